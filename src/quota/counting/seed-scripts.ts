/** New counters, what nodes hand in at young ones, and what was counted while they were away. */
import { numbersReply } from '../../stores/redis/server/replies.js';
import type { MonthCount } from '../model/counter-store.js';
import { millisecondOf, nodeIn, numberAt, secondOf, type ScriptCall } from './script-call.js';
import type { StoredCounter } from './stored-counter.js';

/** Arguments of `SEED_LUA` that are not of a counter, and those of each counter. */
const SEED_ARGUMENTS = 6;
const ARGUMENTS_EACH = 7;
/** Those of `REPLAY_LUA` before the seconds and their costs. */
const REPLAY_ARGUMENTS = 7;
const MAY_CREATE = '1';
/** Responses. */
const DONE = 1;
const MISSING = 0;
const LATE = -1;
const NOT_READY = -1;

/** What a seed knows of one counter. */
class KnownCounts {
  /** By the database, and when that was observed, µs. */
  readonly used: number;
  readonly seenUs: number;
  readonly later: readonly MonthCount[];
  readonly setAtMs: number | undefined;
  /** By the node, and what it counted itself since: instants (µs) and costs in turn. */
  readonly nodeUsed: number;
  readonly nodeSeenUs: number;
  readonly log: readonly number[];

  constructor(args: readonly string[]) {
    const [used, seenUs, later = '', setAt = '', nodeUsed, nodeSeenUs, log = ''] = args;
    this.used = Number(used);
    this.seenUs = Number(seenUs);
    this.later = pairsOf(numbersOf(later)).map(([month, count]) => ({ month, used: count }));
    this.setAtMs = setAt === '' ? undefined : Number(setAt);
    this.nodeUsed = Number(nodeUsed);
    this.nodeSeenUs = Number(nodeSeenUs);
    this.log = numbersOf(log);
  }
}

/** `SEED_LUA`: creates counters, hands in at young ones, brings those to a month that have to be told what it holds. */
export function seed(call: ScriptCall): string {
  const { keys, args, nowUs } = call;
  call.tables.awaited.goesOn();
  if (millisecondOf(call) > numberAt(call, 3)) return numbersReply([LATE, nowUs]);
  const reply = [DONE, nowUs];
  keys.forEach((name, index) => {
    const from = SEED_ARGUMENTS + index * ARGUMENTS_EACH;
    const known = new KnownCounts(args.slice(from, from + ARGUMENTS_EACH));
    const counter = call.tables.counter(name, secondOf(call));
    const used = counter === undefined ? create(call, name, known) : handOver(call, counter, known);
    if (used.isMissing) reply[0] = MISSING;
    reply.push(used.used);
  });
  return numbersReply(reply);
}

interface Seeded {
  readonly used: number;
  /** It does not exist, or does not know the month, and may not be created. */
  readonly isMissing: boolean;
}

function create(call: ScriptCall, name: string, known: KnownCounts): Seeded {
  const [, , , , node = '', mayCreate] = call.args;
  if (mayCreate !== MAY_CREATE) return { used: 0, isMissing: true };
  const isLater = known.nodeSeenUs > known.seenUs || (known.nodeSeenUs === known.seenUs && known.nodeUsed > known.used);
  const [base, seenUs] = isLater ? [known.nodeUsed, known.nodeSeenUs] : [known.used, known.seenUs];
  const used = base + logged(known.log, seenUs);
  const second = secondOf(call);
  const counter = call.tables.create(name, second, numberAt(call, 0), used, numberAt(call, 2));
  counter.others = known.later;
  if (known.setAtMs !== undefined) counter.setAtMs = known.setAtMs;
  if (node !== '') {
    counter.youth = { born: second, baseSeenUs: seenUs, base, handedIn: new Map([[node, known.log]]) };
  }
  return { used, isMissing: false };
}

function handOver(call: ScriptCall, counter: StoredCounter, known: KnownCounts): Seeded {
  const [, , , , node = '', mayCreate] = call.args;
  const [period, following, expiresAtMs] = [numberAt(call, 0), numberAt(call, 1), numberAt(call, 2)];
  counter.grow(secondOf(call));
  // What the database knows may have been seen in this very counter. A later label that is not yet `following` was seen
  // as the earlier one.
  if (node !== '' && counter.month >= period && counter.month < following) handIn(counter, node, known);
  const told = mayCreate === MAY_CREATE ? known.used : undefined;
  const state = counter.in(period, following) ?? (told === undefined ? undefined : counter.in(period, following, told));
  if (state !== undefined) counter.turnTo(state, expiresAtMs);
  return { used: counter.used, isMissing: state === undefined };
}

function handIn(counter: StoredCounter, node: string, { nodeUsed, nodeSeenUs, log }: KnownCounts): void {
  const { youth } = counter;
  if (youth === undefined || youth.handedIn.has(node)) return;
  const { baseSeenUs, base } = youth;
  if (nodeSeenUs > baseSeenUs || (nodeSeenUs === baseSeenUs && nodeUsed > base)) {
    counter.used += nodeUsed - base;
    // A later base holds what others have handed in already.
    for (const other of youth.handedIn.values()) counter.used -= logged(other, baseSeenUs, nodeSeenUs);
    youth.baseSeenUs = nodeSeenUs;
    youth.base = nodeUsed;
  }
  youth.handedIn.set(node, log);
  counter.used += logged(log, youth.baseSeenUs);
}

/** `REPLAY_LUA`: counts what a node admitted while the counters were away, once. */
export function replay(call: ScriptCall): string {
  const { tables, keys, args, nowUs } = call;
  const second = secondOf(call);
  const [lifeMs = 0, label = 0, used = 0, period = 0, following = 0, expiresAtMs = 0] = args.map(Number);
  const node = nodeIn(args[6] ?? '');
  const [account, key] = keys.slice(0, 2).map((name) => tables.counter(name, second));
  const owes = [account, key].map((counter) => counter?.owes(second, node) === true);
  if (account === undefined || key === undefined || owes.includes(true)) return numbersReply([NOT_READY, 0, 0]);
  const ofAccount = account.in(period, following);
  const ofKey = ofAccount && key.in(period, following);
  if (ofAccount === undefined || ofKey === undefined) return numbersReply([NOT_READY, 0, 0]);
  if (tables.wasReplayed(keys[2]!, lifeMs)) return numbersReply([DONE, ofAccount.used, ofKey.used, nowUs]);
  const costs = pairsOf(args.slice(REPLAY_ARGUMENTS).map(Number));
  account.turnTo(ofAccount, expiresAtMs);
  key.turnTo(ofKey, expiresAtMs);
  for (const counter of [account, key]) {
    counter.addToMonth(label, used, period);
    for (const [at, cost] of costs) counter.countAt(at, cost);
  }
  return numbersReply([DONE, account.used, key.used, nowUs]);
}

/** What of a log is later than one instant and no later than another. */
function logged(log: readonly number[], afterUs: number, untilUs = Infinity): number {
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
