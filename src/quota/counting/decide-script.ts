/** The decision, as the counting process makes it: `DECIDE_LUA` in `src/quota/redis/scripts/decide.ts`. */
import { plainText } from '../../stores/redis/script-command.js';
import type { BatchMarker } from './counting-tables.js';
import { nodeIn, NOT_YET, secondOf, type ScriptCall } from './script-call.js';
import type { StoredCounter } from './stored-counter.js';

const LATEST_MS = 0;
const NUMBER = 1;
const LIFE_MS = 2;
const GROUPS = 3;
/** A counter is missing, or does not know the month. */
const MISSING = ' -1 0 0 0 0 0 0 0 0';
/** The node has to hand in first. */
const OWING = ' -2 0 0 0 0 0 0 0 0';

/** What a line says behind cost and count: the same for most groups of a batch. Below zero a limit is none. */
class Terms {
  readonly accountMinute: number;
  readonly keyMinute: number;
  readonly accountMonth: number;
  readonly keyMonth: number;
  readonly label: number;
  readonly following: number;
  readonly expiresAtMs: number;

  constructor(readonly text: string) {
    const numbers = text.split(' ').map(Number);
    [this.accountMinute = -1, this.keyMinute = -1, this.accountMonth = -1, this.keyMonth = -1] = numbers;
    [this.label = 0, this.following = 0, this.expiresAtMs = 0] = numbers.slice(4);
  }
}

/** Decides groups of equal requests. */
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
    const behindCost = line.indexOf(' ');
    const behindCount = line.indexOf(' ', behindCost + 1);
    const text = line.slice(behindCount + 1);
    if (terms?.text !== text) terms = new Terms(text);
    const account = tables.counter(keys[group * 2]!, second);
    const key = tables.counter(keys[group * 2 + 1]!, second);
    const wanted = Number(line.slice(behindCost + 1, behindCount));
    reply += batch.decide(account, key, Number(line.slice(0, behindCost)), wanted, terms);
  }
  if (batch.hasCounted) mark(call, markerName, batch);
  return plainText(reply);
}

/** Leaves word of what was counted, for whoever gets no reply. */
function mark({ tables, args }: ScriptCall, name: string, { second, admitted }: Batch): void {
  const lifeMs = Number(args[LIFE_MS]);
  const known = tables.markers.get(name);
  const marker: BatchMarker = known ?? tables.markers.set(name, { batch: undefined, expiresAtMs: 0 });
  marker.batch = { number: args[NUMBER]!, second, admitted };
  if (lifeMs > 0 || known === undefined) marker.expiresAtMs = tables.nowMs() + Math.abs(lifeMs);
}

/** One call's groups, and what was admitted of each. */
class Batch {
  readonly admitted: number[] = [];
  hasCounted = false;

  constructor(
    private readonly node: string,
    readonly second: number,
  ) {}

  /** One group. @returns its part of the reply, with a space in front. */
  decide(
    account: StoredCounter | undefined,
    key: StoredCounter | undefined,
    cost: number,
    wanted: number,
    terms: Terms,
  ): string {
    this.admitted.push(0);
    if (account === undefined || key === undefined) return MISSING;
    const accountOwes = account.owes(this.second, this.node);
    if (key.owes(this.second, this.node) || accountOwes) return OWING;
    const { label, following } = terms;
    const ofAccount = account.in(label, following);
    const ofKey = ofAccount && key.in(label, following);
    if (ofAccount === undefined || ofKey === undefined) return MISSING;
    const { sum: accountSum } = account;
    const { sum: keySum } = key;
    const { used: accountUsed } = ofAccount;
    const { used: keyUsed } = ofKey;
    let admitted = wanted;
    if (cost > 0) {
      admitted = room(terms.accountMinute, accountSum, cost, admitted);
      admitted = room(terms.keyMinute, keySum, cost, admitted);
      admitted = room(terms.accountMonth, accountUsed, cost, admitted);
      admitted = Math.max(0, room(terms.keyMonth, keyUsed, cost, admitted));
    }
    if (admitted > 0 && cost > 0) {
      account.turnTo(ofAccount, terms.expiresAtMs);
      key.turnTo(ofKey, terms.expiresAtMs);
      account.count(admitted * cost);
      key.count(admitted * cost);
      this.hasCounted = true;
      this.admitted[this.admitted.length - 1] = admitted;
    }
    const counts = ` ${admitted} ${accountSum} ${keySum} ${accountUsed} ${keyUsed} ${account.oldest} ${key.oldest}`;
    if (admitted === wanted) return `${counts} 0 0`;
    return `${counts} ${freed(account, terms.accountMinute, cost)} ${freed(key, terms.keyMinute, cost)}`;
  }
}

/** How many of `most` requests a limit still has room for; below zero where more is used than it allows. */
function room(limit: number, used: number, cost: number, most: number): number {
  return limit < 0 ? most : Math.min(most, Math.floor((limit - used) / cost));
}

/** The second from which one more fits; 0 where it does. */
function freed(counter: StoredCounter, limit: number, cost: number): number {
  const over = counter.sum + cost - limit;
  return limit >= 0 && over > 0 ? counter.freedAt(over) : 0;
}
