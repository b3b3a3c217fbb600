/**
 * Implements the scripts of the counting process that create counters, add nodes' reports to young counters, and replay
 * outages.
 */
import { numbersReply } from '../../stores/redis/server/replies.js';
import { NOTHING_COUNTED, type CalendarCount } from '../model/calendar-count.js';
import type { MonthCount } from '../model/counter-store.js';
import { labelsAt, millisecondOf, nodeIn, numberAt, secondOf, type ScriptCall } from './script-call.js';
import type { StoredCounter } from './stored-counter.js';

/** Number of arguments of `SEED_LUA` before the arguments of the counters, and number of arguments per counter. */
const SEED_ARGUMENTS = 7;
const ARGUMENTS_EACH = 9;
/** Number of arguments of `REPLAY_LUA` before the pairs of second and cost. */
const REPLAY_ARGUMENTS = 9;
const MAY_CREATE = '1';
/** Results in the responses of `SEED_LUA`, and `NOT_READY` in that of `REPLAY_LUA`. */
const DONE = 1;
const MISSING = 0;
const LATE = -1;
const NOT_READY = -1;

/** KnownCounts holds the arguments of one counter in a `SEED_LUA` call. */
class KnownCounts {
  /** Usage in the database, when it was observed (µs), and the part of it before the current day. */
  readonly used: number;
  readonly seenUs: number;
  readonly beforeToday: number;
  readonly later: readonly MonthCount[];
  readonly setAtMs: number | undefined;
  /**
   * Usage, observation time and earlier usage as the node knows them. `log` has the costs that the node has counted
   * since the loss, as pairs of time (µs) and cost.
   */
  readonly nodeUsed: number;
  readonly nodeSeenUs: number;
  readonly nodeBeforeToday: number;
  readonly log: readonly number[];

  constructor(args: readonly string[]) {
    const [used, seenUs, before, later = '', setAt = '', nodeUsed, nodeSeenUs, nodeBefore, log = ''] = args;
    this.used = Number(used);
    this.seenUs = Number(seenUs);
    this.beforeToday = Number(before);
    this.later = pairsOf(numbersOf(later)).map(([month, count]) => ({ month, used: count }));
    this.setAtMs = setAt === '' ? undefined : Number(setAt);
    this.nodeUsed = Number(nodeUsed);
    this.nodeSeenUs = Number(nodeSeenUs);
    this.nodeBeforeToday = Number(nodeBefore);
    this.log = numbersOf(log);
  }
}

/**
 * Creates missing counters, adds reports to young counters, and moves counters that do not know the month; see
 * `SEED_LUA`.
 */
export function seed(call: ScriptCall): string {
  const { keys, args, nowUs } = call;
  call.tables.awaited.recordProgress();
  if (millisecondOf(call) > numberAt(call, 4)) return numbersReply([LATE, nowUs]);
  const reply = [DONE, nowUs];
  keys.forEach((name, index) => {
    const from = SEED_ARGUMENTS + index * ARGUMENTS_EACH;
    const known = new KnownCounts(args.slice(from, from + ARGUMENTS_EACH));
    const counter = call.tables.counter(name, secondOf(call));
    const seeded = counter === undefined ? create(call, name, known) : seedExisting(call, counter, known);
    if (seeded.isMissing) reply[0] = MISSING;
    reply.push(seeded.used, seeded.usedToday);
  });
  return numbersReply(reply);
}

interface Seeded extends CalendarCount {
  /** Whether the counter does not exist or does not know the month, and the call must not create it. */
  readonly isMissing: boolean;
}

/**
 * Creates a counter from the later of two observations, which the database and the node have made. Adds the node's
 * costs since that observation.
 */
function create(call: ScriptCall, name: string, known: KnownCounts): Seeded {
  const [, , , , , node = '', mayCreate] = call.args;
  if (mayCreate !== MAY_CREATE) return { ...NOTHING_COUNTED, isMissing: true };
  const isLater = known.nodeSeenUs > known.seenUs || (known.nodeSeenUs === known.seenUs && known.nodeUsed > known.used);
  const [base, seenUs, before] = isLater
    ? [known.nodeUsed, known.nodeSeenUs, known.nodeBeforeToday]
    : [known.used, known.seenUs, known.beforeToday];
  const used = base + costsBetween(known.log, seenUs);
  const second = secondOf(call);
  const counted = { used, usedToday: used - before };
  const counter = call.tables.create(name, second, labelsAt(call, 0), counted, numberAt(call, 3));
  counter.others = known.later;
  if (known.setAtMs !== undefined) counter.setAtMs = known.setAtMs;
  if (node !== '') {
    counter.youth = { born: second, baseSeenUs: seenUs, base, reports: new Map([[node, known.log]]) };
  }
  return { ...counted, isMissing: false };
}

function seedExisting(call: ScriptCall, counter: StoredCounter, known: KnownCounts): Seeded {
  const [, , , , , node = '', mayCreate] = call.args;
  const [period, { calendarState }] = [labelsAt(call, 0), counter];
  counter.endYouthIfOver(secondOf(call));
  // Ignore the database's counts, because they may have been observed in this counter. A later label before `following`
  // is the same month after a change of the billing day.
  if (node !== '' && counter.month >= period.label && counter.month < period.following) {
    counter.turnTo(period);
    addReport(counter, node, known);
  }
  const isThere = counter.turnTo(period) || (mayCreate === MAY_CREATE && counter.turnTo(period, known.used));
  counter.extendExpiry(numberAt(call, 3), calendarState);
  return { used: counter.used, usedToday: counter.usedToday, isMissing: !isThere };
}

/** Adds a node's report to a young counter, if the node has not reported before. */
function addReport(counter: StoredCounter, node: string, known: KnownCounts): void {
  const { youth } = counter;
  if (youth === undefined || youth.reports.has(node)) return;
  const { nodeUsed, nodeSeenUs, log } = known;
  const { baseSeenUs, base } = youth;
  let beforeToday = counter.used - counter.usedToday;
  if (nodeSeenUs > baseSeenUs || (nodeSeenUs === baseSeenUs && nodeUsed > base)) {
    counter.used += nodeUsed - base;
    // The new base is later. It contains the costs that other nodes reported up to the base's time.
    for (const other of youth.reports.values()) counter.used -= costsBetween(other, baseSeenUs, nodeSeenUs);
    youth.baseSeenUs = nodeSeenUs;
    youth.base = nodeUsed;
    beforeToday = known.nodeBeforeToday;
  }
  youth.reports.set(node, log);
  counter.used += costsBetween(log, youth.baseSeenUs);
  counter.usedToday = counter.used - beforeToday;
}

/**
 * Counts the requests that a node admitted while the counters were unavailable. Counts an outage entry only once; see
 * `REPLAY_LUA`.
 */
export function replay(call: ScriptCall): string {
  const { tables, keys, args, nowUs } = call;
  const second = secondOf(call);
  const [lifeMs = 0, label = 0, day = 0, used = 0] = args.map(Number);
  const [period, expiresAtMs] = [labelsAt(call, 4), numberAt(call, 7)];
  const node = nodeIn(args[8] ?? '');
  const [account, key] = keys.slice(0, 2).map((name) => tables.counter(name, second));
  const mustReport = [account, key].map((counter) => counter?.mustReport(second, node) === true);
  if (account === undefined || key === undefined || mustReport.includes(true)) return numbersReply([NOT_READY, 0, 0]);
  const counters = [account, key].map((counter) => ({ counter, place: counter.calendarState }));
  const isReady = account.turnTo(period) && key.turnTo(period);
  const isNew = isReady && !tables.wasReplayed(keys[2]!, lifeMs);
  const costs = pairsOf(args.slice(REPLAY_ARGUMENTS).map(Number));
  for (const { counter, place } of isNew ? counters : []) {
    counter.addTo({ label, day: { label: day } }, used, period.label);
    counter.extendExpiry(expiresAtMs, place);
    for (const [at, cost] of costs) counter.countAt(at, cost);
  }
  const reply = [DONE, account.used, account.usedToday, key.used, key.usedToday, nowUs];
  if (!isNew) for (const { counter, place } of counters) counter.restore(place);
  return numbersReply(isReady ? reply : [NOT_READY, 0, 0]);
}

/** Sums the costs of a log after one instant (exclusive), up to another (inclusive). */
function costsBetween(log: readonly number[], afterUs: number, untilUs = Infinity): number {
  let sum = 0;
  for (const [atUs, cost] of pairsOf(log)) if (atUs > afterUs && atUs <= untilUs) sum += cost;
  return sum;
}

function numbersOf(text: string): number[] {
  return text === '' ? [] : text.split(' ').map(Number);
}

function pairsOf(numbers: readonly number[]): [number, number][] {
  const pairs: [number, number][] = [];
  for (let at = 0; at + 1 < numbers.length; at += 2) pairs.push([numbers[at]!, numbers[at + 1]!]);
  return pairs;
}
