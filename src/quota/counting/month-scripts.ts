/** Counts that are read and months that are set, as the counting process does it. */
import { numbersReply } from '../../stores/redis/server/replies.js';
import { NOTHING_COUNTED } from '../model/calendar-count.js';
import { YOUTH_MS } from '../redis/scripts/young.js';
import { labelsAt, millisecondOf, NOT_YET, numberAt, secondOf, type ScriptCall } from './script-call.js';

/** In the place of a month label: there is no counter, or it does not know the month. */
const NO_MONTH = -1;

/** `READ_LUA`: reads counters without counting; not while nodes have to hand in what they should show. */
export function read(call: ScriptCall): string {
  if (call.tables.awaited.isWaiting) return NOT_YET;
  const second = secondOf(call);
  const reply = [call.nowUs];
  call.keys.forEach((name, index) => {
    const counter = call.tables.counter(name, second);
    counter?.grow(second);
    const place = counter?.place;
    if (counter === undefined || place === undefined || !counter.turnTo(labelsAt(call, 0))) {
      reply.push(NO_MONTH, 0, 0, 0, 0, 0);
      return;
    }
    const over = counter.sum - numberAt(call, index + 3);
    const { month, used, usedToday, sum, oldest } = counter;
    reply.push(month, used, usedToday, sum, oldest, over > 0 ? counter.freedAt(over) : 0);
    counter.restore(place);
  });
  return numbersReply(reply);
}

/** `MONTHS_LUA`: reads the month counts of an account's counters, of the months that they are in. */
export function months(call: ScriptCall): string {
  const { tables, keys } = call;
  const second = secondOf(call);
  const reply = [millisecondOf(call)];
  for (const name of keys) {
    const counter = tables.counters.get(name);
    const youth = counter?.youth;
    // What was there before it was created is known of a young one: it was lost, and may still lack what nodes have to
    // hand in.
    const isLost = youth !== undefined && youth.baseSeenUs !== 0 && Math.abs(second - youth.born) < YOUTH_MS / 1_000;
    if (counter === undefined) reply.push(NO_MONTH, 0, 0, 0);
    else reply.push(isLost ? NO_MONTH : counter.month, counter.used, counter.day, counter.usedToday);
  }
  return numbersReply(reply);
}

/**
 * `SET_USED_LUA`: sets the month's count of a counter, and of its shadow where that exists. What it was before is kept
 * with the change: not while nodes have to hand that in.
 */
export function setUsed(call: ScriptCall): string {
  const { tables, keys, nowUs } = call;
  if (tables.awaited.isWaiting) return NOT_YET;
  const [name = '', shadowName = ''] = keys;
  const [expiresAtMs = 0, used = 0, latestMs = 0] = call.args.slice(3).map(Number);
  const period = labelsAt(call, 0);
  const ms = millisecondOf(call);
  if (ms > latestMs) return numbersReply([0, ms, 0]);
  const second = secondOf(call);
  const counter = tables.counter(name, second) ?? tables.create(name, second, period, NOTHING_COUNTED, expiresAtMs);
  const { place } = counter;
  const before = counter.turnTo(period) ? counter.used : 0;
  counter.restore(place);
  for (const each of [counter, tables.counter(shadowName, second)]) {
    if (each === undefined) continue;
    const from = each.place;
    each.turnTo(period, 0);
    each.setUsed(used, nowUs / 1_000);
    each.keepUntil(expiresAtMs, from);
  }
  return numbersReply([1, ms, before]);
}
