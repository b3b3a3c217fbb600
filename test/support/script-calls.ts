/** Random calls of every counting script, to compare the replies of two implementations. */
import fc from 'fast-check';
import { DECIDE_LUA } from '../../src/quota/redis/scripts/decide.js';
import { HEARTBEAT_LUA } from '../../src/quota/redis/scripts/heartbeat.js';
import { MONTHS_LUA } from '../../src/quota/redis/scripts/months.js';
import { REPLAY_LUA, UNDO_LUA } from '../../src/quota/redis/scripts/outage.js';
import { READ_LUA } from '../../src/quota/redis/scripts/read.js';
import { REFUND_LUA } from '../../src/quota/redis/scripts/refund.js';
import { SEED_LUA } from '../../src/quota/redis/scripts/seed.js';
import { SET_USED_LUA } from '../../src/quota/redis/scripts/set-used.js';
import { THROTTLE_LUA, THROTTLE_REFUND_LUA } from '../../src/quota/redis/scripts/throttle.js';
import { TIME_LUA } from '../../src/quota/redis/scripts/time.js';
import { EPOCH_KEY, NODES_KEY } from '../../src/stores/redis/keys.js';
import { labelsOf } from '../../src/quota/model/month-period.js';
import { WINDOWS } from '../../src/platform/quotas/windows.js';
import { UTC_MONTHS } from './quotas.js';

export const START_MS = Date.parse('2100-12-31T23:58:00Z');
export const DAY_MS = 86_400_000;
const GRACE_MS = 3 * DAY_MS;
export const HOUR_MS = 3_600_000;
const NODES = ['one', 'two', 'three'];

/** Call is one call of a Redis script. */
export interface Call {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** Scene is the state in which a call is created. */
export interface Scene {
  readonly nowMs: number;
  readonly account: string;
  /** Times at which month counts were set, in ms. */
  readonly sets: number[];
  /** The last batch of each node, by node. */
  readonly batches: Map<
    string,
    { readonly keys: readonly string[]; readonly number: number; readonly undo: readonly number[] }
  >;
}
/** Step is a call, and the time to wait before it. */
export type Step = { readonly waitMs: number; readonly call: (scene: Scene) => Call };

export const counterOf = (account: string, key: number): string =>
  key === 0 ? `tg:q:{${account}}` : `tg:q:{${account}}:key_${key}`;
const key = fc.integer({ min: 1, max: 2 });
const node = fc.constantFrom(...NODES);
const cost = fc.constantFrom(0, 1, 1, 1, 2, 5, 70_000);
const limit = fc.oneof(fc.constant(-1), fc.nat(12), fc.constant(300_000));
/** How far a node's clock is ahead, in ms. It can be in the current, an earlier or a later day or month. */
const ahead = fc.oneof(
  { weight: 8, arbitrary: fc.constant(0) },
  fc.constantFrom(-31 * DAY_MS, -DAY_MS, DAY_MS, 31 * DAY_MS, 62 * DAY_MS),
);

export function monthOf(
  nowMs: number,
  aheadMs: number,
): readonly [label: number, following: number, day: number, expiresAtMs: number] {
  const period = UTC_MONTHS.at(nowMs + aheadMs);
  return [...labelsOf(period), period.endMs + GRACE_MS];
}

let sent = 0;

/** Returns the number of a new batch. */
export function nextNumber(): number {
  return ++sent;
}

const decide = fc
  .record({
    node,
    ahead,
    isLate: fc.constantFrom(false, false, false, false, true),
    isRenewed: fc.boolean(),
    groups: fc.array(
      fc.record({ key, cost, wanted: fc.integer({ min: 1, max: 4 }), limits: fc.tuple(...WINDOWS.map(() => limit)) }),
      { minLength: 1, maxLength: 3 },
    ),
  })
  .map(({ node: name, ahead: aheadMs, isLate, isRenewed, groups }) => ({ nowMs, account, batches }: Scene): Call => {
    const month = monthOf(nowMs, aheadMs);
    const keys = groups.flatMap((group) => [counterOf(account, 0), counterOf(account, group.key)]);
    keys.push(`tg:b:${account}:${name}`);
    const lines = groups.map((group) => `${[group.cost, group.wanted, ...group.limits, ...month].join(' ')}\n`);
    const number = nextNumber();
    const undo = groups.flatMap((group) => [group.cost, ...month.slice(0, 3)]);
    batches.set(name, { keys, number, undo });
    const lifeMs = isRenewed ? HOUR_MS : -HOUR_MS;
    return { script: DECIDE_LUA, keys, args: [isLate ? nowMs - 1 : nowMs + 100, number, lifeMs, lines.join('')] };
  });

const undo = fc
  .record({ node, isOther: fc.constantFrom(false, false, true), isEarly: fc.constantFrom(false, false, false, true) })
  .map(({ node: name, isOther, isEarly }) => ({ nowMs, account, batches }: Scene): Call => {
    const batch = batches.get(name);
    if (batch === undefined) return { script: TIME_LUA, keys: [`tg:x:{${account}}`], args: [] };
    const args = [isOther ? 0 : batch.number, isEarly ? nowMs : nowMs - 1, ...batch.undo];
    return { script: UNDO_LUA, keys: batch.keys, args };
  });

/** Recent costs, each with its age in ms. */
const log = fc.array(fc.tuple(fc.nat(30_000), fc.integer({ min: -2, max: 5 })), { maxLength: 4 });
const known = fc.record({
  used: fc.nat(40),
  before: fc.integer({ min: -5, max: 40 }),
  ageMs: fc.option(fc.nat(60_000), { nil: undefined }),
});
const seed = fc
  .record({
    node: fc.oneof({ weight: 4, arbitrary: node }, fc.constant('')),
    ahead,
    keys: fc.uniqueArray(fc.integer({ min: 0, max: 2 }), { minLength: 1, maxLength: 2 }),
    mayCreate: fc.constantFrom(1, 1, 1, 0),
    isLate: fc.constantFrom(false, false, false, false, false, true),
    counters: fc.array(fc.record({ written: known, seen: known, log, isSet: fc.boolean(), hasLater: fc.boolean() }), {
      minLength: 2,
      maxLength: 2,
    }),
  })
  .map(({ node: name, ahead: aheadMs, keys, mayCreate, isLate, counters }) => ({ nowMs, account }: Scene): Call => {
    const us = (ageMs: number | undefined): number => (ageMs === undefined ? 0 : (nowMs - ageMs) * 1_000);
    const [later] = monthOf(nowMs, aheadMs + 31 * DAY_MS);
    const perCounter = keys.flatMap((_key, index) => {
      const { written, seen, log: counted, isSet, hasLater } = counters[index]!;
      const logText = counted
        .toSorted(([one], [other]) => other - one)
        .map(([ageMs, each]) => `${us(ageMs)} ${each}`)
        .join(' ');
      const setAt = isSet ? `${nowMs - 20_000}.250` : '';
      const ofMonth = [hasLater ? `${later} 7` : '', setAt];
      const textOf = ({ used, before, ageMs }: typeof written): number[] => [used, us(ageMs), before];
      return [...textOf(written), ...ofMonth, ...textOf(seen), logText];
    });
    const args = [...monthOf(nowMs, aheadMs), isLate ? nowMs - 1 : nowMs + 2_000, name, mayCreate, ...perCounter];
    return { script: SEED_LUA, keys: keys.map((each) => counterOf(account, each)), args };
  });

const refund = fc
  .record({
    key,
    cost: fc.constantFrom(1, 1, 2, 5, 70_000),
    ageMs: fc.nat(70_000),
    isOfSet: fc.boolean(),
    of: ahead,
    today: ahead,
    node: fc.oneof(node, fc.constant('')),
  })
  .map(
    ({ key: each, cost: given, ageMs, isOfSet, of, today, node: name }) =>
      ({ nowMs, account, sets }: Scene): Call => {
        // In the same millisecond as the last set, in the next one, or at any time.
        const setMs = sets.at(-1);
        const atMs = isOfSet && setMs !== undefined ? setMs + (ageMs % 2) : nowMs - ageMs;
        const counted = monthOf(nowMs, of).slice(0, 3);
        const args = [given, Math.floor(atMs / 1_000), atMs, ...counted, ...monthOf(nowMs, today), name];
        return { script: REFUND_LUA, keys: [counterOf(account, 0), counterOf(account, each)], args };
      },
  );

const replay = fc
  .record({
    key,
    node,
    marker: fc.nat(20),
    of: ahead,
    used: fc.integer({ min: -5, max: 20 }),
    today: ahead,
    seconds: fc.array(fc.tuple(fc.integer({ min: -3, max: 70 }), fc.integer({ min: -4, max: 9 })), { maxLength: 4 }),
  })
  .map(({ key: each, node: name, marker, of, used, today, seconds }) => ({ nowMs, account }: Scene): Call => {
    const pairs = seconds.flatMap(([age, counted]) => [Math.floor(nowMs / 1_000) - age, counted]);
    const [label, , day] = monthOf(nowMs, of);
    const args = [HOUR_MS, label, day, used, ...monthOf(nowMs, today), name, ...pairs];
    const keys = [counterOf(account, 0), counterOf(account, each), `tg:r:{${account}}:${marker}`];
    return { script: REPLAY_LUA, keys, args };
  });

const read = fc
  .record({ key, ahead, room: fc.nat(20) })
  .map(({ key: each, ahead: aheadMs, room }) => ({ nowMs, account }: Scene): Call => {
    const args = [...monthOf(nowMs, aheadMs).slice(0, 3), room, room];
    return { script: READ_LUA, keys: [counterOf(account, 0), counterOf(account, each)], args };
  });
const months = fc.constant(({ account }: Scene): Call => {
  return { script: MONTHS_LUA, keys: [0, 1, 2].map((each) => counterOf(account, each)), args: [] };
});
const setUsed = fc
  .record({
    key: fc.integer({ min: 0, max: 2 }),
    shadow: fc.integer({ min: 0, max: 2 }),
    ahead,
    used: fc.nat(50),
    isLate: fc.constantFrom(false, false, false, true),
  })
  .map(({ key: each, shadow, ahead: aheadMs, used, isLate }) => ({ nowMs, account, sets }: Scene): Call => {
    sets.push(nowMs);
    const args = [...monthOf(nowMs, aheadMs), used, isLate ? nowMs - 1 : nowMs + 240];
    return { script: SET_USED_LUA, keys: [counterOf(account, each), counterOf(account, shadow)], args };
  });
const throttle = fc
  .record({
    lengthMs: fc.constant(1_000),
    limit: fc.integer({ min: 1, max: 4 }),
    ageMs: fc.nat(20_000),
    isRefund: fc.boolean(),
  })
  .map(({ lengthMs, limit: most, ageMs, isRefund }) => ({ nowMs, account }: Scene): Call => {
    const keys = [`tg:t:sign-in:${account}`];
    if (isRefund)
      return { script: THROTTLE_REFUND_LUA, keys, args: [lengthMs, Math.floor((nowMs - ageMs) / lengthMs)] };
    return { script: THROTTLE_LUA, keys, args: [lengthMs, most, 2 * HOUR_MS] };
  });
const epoch = fc.nat(2);
const heartbeat = fc.tuple(fc.oneof(node, fc.constant('')), epoch).map(([name, first]) => (): Call => {
  return { script: HEARTBEAT_LUA, keys: [NODES_KEY, EPOCH_KEY], args: [name, 10_000, 60_000, '', first, DAY_MS] };
});

const waitMs = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 3_000 }) },
  { weight: 3, arbitrary: fc.constantFrom(1, 1_000, 9_999, 10_000, 59_000, 60_000, 61_000, 62_000) },
  { weight: 1, arbitrary: fc.constantFrom(20 * DAY_MS, 40 * DAY_MS) },
);
const call = fc.oneof(
  { weight: 8, arbitrary: decide },
  { weight: 5, arbitrary: seed },
  { weight: 3, arbitrary: refund },
  { weight: 2, arbitrary: undo },
  { weight: 3, arbitrary: replay },
  { weight: 2, arbitrary: read },
  { weight: 1, arbitrary: months },
  { weight: 2, arbitrary: setUsed },
  { weight: 1, arbitrary: throttle },
  { weight: 1, arbitrary: heartbeat },
);
/** Random sequences of calls. */
export const steps: fc.Arbitrary<Step[]> = fc.array(fc.record({ waitMs, call }), { minLength: 5, maxLength: 60 });
