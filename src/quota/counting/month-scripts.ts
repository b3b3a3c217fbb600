/** Implements the scripts of the counting process that read counters and set month counts. */
import { numbersReply } from '../../stores/redis/server/replies.js';
import { NOTHING_COUNTED } from '../model/calendar-count.js';
import { YOUTH_MS } from '../redis/scripts/young-counters.js';
import { labelsAt, millisecondOf, NOT_YET, numberAt, secondOf, type ScriptCall } from './script-call.js';

/** Month label for a counter that is missing or does not know the month. */
const NO_MONTH = -1;

/**
 * Reads counters without counting a request; see `READ_LUA`. Refuses while nodes still have to report earlier counts.
 */
export function read(call: ScriptCall): string {
  if (call.tables.awaited.isWaiting) return NOT_YET;
  const second = secondOf(call);
  const reply = [call.nowUs];
  call.keys.forEach((name, index) => {
    const counter = call.tables.counter(name, second);
    counter?.endYouthIfOver(second);
    const place = counter?.calendarState;
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

/** Reads the month counts of an account's counters; see `MONTHS_LUA`. */
export function months(call: ScriptCall): string {
  const { tables, keys } = call;
  const second = secondOf(call);
  const reply = [millisecondOf(call)];
  for (const name of keys) {
    const counter = tables.counters.get(name);
    const youth = counter?.youth;
    // A young counter with an earlier observation was lost. Nodes may still have to report counts of this counter, so
    // its count cannot be used.
    const isLost = youth !== undefined && youth.baseSeenUs !== 0 && Math.abs(second - youth.born) < YOUTH_MS / 1_000;
    if (counter === undefined) reply.push(NO_MONTH, 0, 0, 0);
    else reply.push(isLost ? NO_MONTH : counter.month, counter.used, counter.day, counter.usedToday);
  }
  return numbersReply(reply);
}

/**
 * Sets the month's count of a counter, and of its shadow counter if there is one; see `SET_USED_LUA`. Refuses while
 * nodes still have to report earlier counts, because the audit log records the count before the change.
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
  const { calendarState } = counter;
  const before = counter.turnTo(period) ? counter.used : 0;
  counter.restore(calendarState);
  for (const each of [counter, tables.counter(shadowName, second)]) {
    if (each === undefined) continue;
    const from = each.calendarState;
    each.turnTo(period, 0);
    each.setUsed(used, nowUs / 1_000);
    each.extendExpiry(expiresAtMs, from);
  }
  return numbersReply([1, ms, before]);
}
