/** Implements the decision in the counting process: `DECIDE_LUA` in `src/quota/redis/scripts/decide.ts`. */
import { plainText } from '../../stores/redis/script-command.js';
import { ACCOUNT_DAY, ACCOUNT_MINUTE, KEY_DAY, KEY_MINUTE, WINDOWS } from '../../platform/quotas/windows.js';
import type { PeriodLabels, CalendarState } from '../model/counter.js';
import type { QuotaCounts } from '../model/policies.js';
import { DECIDE_NUMBERS } from '../redis/scripts/decide.js';
import type { BatchMarker } from './counting-tables.js';
import { nodeIn, NOT_YET, secondOf, type ScriptCall } from './script-call.js';
import type { StoredCounter } from './stored-counter.js';

/** Positions of the arguments. */
const LATEST_MS = 0;
const NUMBER = 1;
const LIFE_MS = 2;
const GROUPS = 3;
/** Reply for a group with a counter that is missing or does not know the month. */
const MISSING = ` -1${' 0'.repeat(DECIDE_NUMBERS - 1)}`;
/** Reply for a group with a young counter to which the node must report first. */
const MUST_REPORT = ` -2${' 0'.repeat(DECIDE_NUMBERS - 1)}`;

/**
 * Terms is the part of a group's line after the cost and the number of requests. Most groups of a batch have equal
 * terms. A negative limit means that the window has no limit.
 */
class Terms {
  /** Limits in the order of the windows. */
  readonly limits: readonly number[];
  readonly period: PeriodLabels;
  readonly expiresAtMs: number;

  constructor(readonly text: string) {
    const numbers = text.split(' ').map(Number);
    this.limits = numbers.slice(0, WINDOWS.length);
    const [label = 0, following = 0, day = 0, expiresAtMs = 0] = numbers.slice(WINDOWS.length);
    this.period = { label, following, day: { label: day } };
    this.expiresAtMs = expiresAtMs;
  }
}

/** Decides groups of equal requests; see `DECIDE_LUA`. Refuses while nodes still have to report earlier counts. */
export function decide(call: ScriptCall): string {
  const { tables, keys, args, nowUs } = call;
  if (tables.awaited.isWaiting) return NOT_YET;
  if (nowUs >= (Number(args[LATEST_MS]) + 1) * 1_000) return plainText(String(nowUs));
  const second = secondOf(call);
  const markerName = keys.at(-1)!;
  const batch = new Batch(nodeIn(markerName), second);
  let reply = String(nowUs);
  let terms: Terms | undefined;
  const lines = args[GROUPS]!.split('\n');
  for (let group = 0; group * 2 + 1 < keys.length; group++) {
    const line = lines[group]!;
    const costEnd = line.indexOf(' ');
    const countEnd = line.indexOf(' ', costEnd + 1);
    const text = line.slice(countEnd + 1);
    if (terms?.text !== text) terms = new Terms(text);
    const account = tables.counter(keys[group * 2]!, second);
    const key = tables.counter(keys[group * 2 + 1]!, second);
    const wanted = Number(line.slice(costEnd + 1, countEnd));
    reply += batch.decide(account, key, Number(line.slice(0, costEnd)), wanted, terms);
  }
  if (batch.hasCounted) writeMarker(call, markerName, batch);
  return plainText(reply);
}

/**
 * Writes the marker with the numbers of admitted requests. If the caller gets no reply, its `undo` call reads the
 * marker.
 */
function writeMarker({ tables, args }: ScriptCall, name: string, { second, admitted }: Batch): void {
  const lifeMs = Number(args[LIFE_MS]);
  const known = tables.markers.get(name);
  const marker: BatchMarker = known ?? tables.markers.set(name, { batch: undefined, expiresAtMs: 0 });
  marker.batch = { number: args[NUMBER]!, second, admitted };
  if (lifeMs > 0 || known === undefined) marker.expiresAtMs = tables.nowMs() + Math.abs(lifeMs);
}

/** Batch decides the groups of one call. */
class Batch {
  readonly admitted: number[] = [];
  hasCounted = false;

  constructor(
    private readonly node: string,
    readonly second: number,
  ) {}

  /**
   * Decides one group.
   * @returns the group's part of the reply, with a leading space.
   */
  decide(
    account: StoredCounter | undefined,
    key: StoredCounter | undefined,
    cost: number,
    wanted: number,
    terms: Terms,
  ): string {
    this.admitted.push(0);
    if (account === undefined || key === undefined) return MISSING;
    const accountMustReport = account.mustReport(this.second, this.node);
    if (key.mustReport(this.second, this.node) || accountMustReport) return MUST_REPORT;
    const { limits, period, expiresAtMs } = terms;
    const counters = [account, key];
    const places = counters.map((counter) => (counter.isIn(period) ? undefined : counter.calendarState));
    if (!account.turnTo(period) || !key.turnTo(period)) {
      restorePlaces(counters, places);
      return MISSING;
    }
    const before: QuotaCounts = [key.sum, account.sum, account.used, key.used, account.usedToday, key.usedToday];
    let admitted = wanted;
    if (cost > 0) {
      for (let index = 0; index < before.length; index++) {
        admitted = room(limits[index]!, before[index]!, cost, admitted);
      }
      admitted = Math.max(0, admitted);
    }
    if (admitted > 0 && cost > 0) {
      counters.forEach((counter, index) => {
        const place = places[index];
        if (place !== undefined) counter.extendExpiry(expiresAtMs, place);
        counter.count(admitted * cost);
      });
      this.hasCounted = true;
      this.admitted[this.admitted.length - 1] = admitted;
    }
    // For a day window, the reply has the usage of the month before that day, as in the Lua.
    before[ACCOUNT_DAY] = account.used - account.usedToday;
    before[KEY_DAY] = key.used - key.usedToday;
    let reply = ` ${admitted}`;
    for (const count of before) reply += ` ${count}`;
    reply += ` ${account.oldest} ${key.oldest}`;
    if (this.admitted.at(-1) === 0) restorePlaces(counters, places);
    if (admitted === wanted) return `${reply} 0 0`;
    return `${reply} ${freed(account, limits[ACCOUNT_MINUTE]!, cost)} ${freed(key, limits[KEY_MINUTE]!, cost)}`;
  }
}

/** Moves counters that counted nothing back to their month and day before the call. */
function restorePlaces(counters: readonly StoredCounter[], places: readonly (CalendarState | undefined)[]): void {
  counters.forEach((counter, index) => {
    const place = places[index];
    if (place !== undefined) counter.restore(place);
  });
}

/** Returns how many of `most` requests fit under a limit. Negative if the usage exceeds the limit. */
function room(limit: number, used: number, cost: number, most: number): number {
  return limit < 0 ? most : Math.min(most, Math.floor((limit - used) / cost));
}

/** Returns the second from which one more request fits, or 0 if the request fits now. */
function freed(counter: StoredCounter, limit: number, cost: number): number {
  const over = counter.sum + cost - limit;
  return limit >= 0 && over > 0 ? counter.freedAt(over) : 0;
}
