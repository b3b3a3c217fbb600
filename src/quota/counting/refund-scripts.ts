/** The way back of a cost, as the counting process goes it: out of every window that still holds it. */
import { NOTHING, numberReply, numbersReply } from '../../stores/redis/server/replies.js';
import { millisecondOf, numberAt, secondOf, type ScriptCall } from './script-call.js';
import { SLOT_MARKER_MS } from '../../stores/redis/keys.js';
import type { StoredCounter } from './stored-counter.js';

/** What is refunded. */
interface Cost {
  readonly cost: number;
  /** The second that it was counted in, and the instant, ms, where that is known. */
  readonly second: number;
  readonly atMs?: number;
  /** Of the month that it was counted in. */
  readonly label: number;
  readonly following: number;
}

/** The month that it is now, where counters are to be brought to that first. */
interface Today {
  readonly label: number;
  readonly following: number;
  readonly expiresAtMs: number;
}

/** Responses of `UNDO_LUA`. */
const MAY_RUN_YET = -1;
const DID_NOT_RUN = 0;
const UNDONE = 1;
/** Of `REFUND_LUA`: a counter is missing; the node has to hand in first. */
const MISSING = -1;
const OWING = -2;

/**
 * Takes a cost out of every window that still holds it; never below zero. What has left the ring, or belongs to another
 * month, or was counted before the month was set, stays as it is.
 * @returns how much the month refunded, and what it has used since.
 */
function refundIn(counter: StoredCounter | undefined, refund: Cost, today?: Today): [number, number] {
  if (counter === undefined) return [0, 0];
  const { cost, second, label, following, atMs = second * 1_000 } = refund;
  const state = (today && counter.in(today.label, today.following)) ?? counter;
  counter.giveBack(second, cost);
  if (state.month < label || state.month >= following) return [0, 0];
  // One that has just come from another month was not set in this one.
  if (state === counter && atMs <= counter.setAtMs) return [0, state.used];
  const fromMonth = Math.min(cost, state.used);
  if (today !== undefined) counter.turnTo(state, today.expiresAtMs);
  counter.used -= fromMonth;
  return [fromMonth, counter.used];
}

/** `REFUND_LUA`. */
export function refund(call: ScriptCall): string {
  const { tables, keys, args, nowUs } = call;
  const [cost = 0, second = 0, atMs = 0, label = 0, following = 0] = args.map(Number);
  const today = { label: numberAt(call, 5), following: numberAt(call, 6), expiresAtMs: numberAt(call, 7) };
  const node = args[8] === '' ? undefined : args[8];
  const counters: (StoredCounter | undefined)[] = [];
  for (const name of keys) {
    const counter = tables.counter(name, secondOf(call));
    const owes = counter?.owes(secondOf(call), node) === true;
    if (node !== undefined && counter === undefined) return numbersReply([nowUs, MISSING]);
    if (owes) return numbersReply([nowUs, OWING]);
    counters.push(counter);
  }
  const given = { cost, second, atMs, label, following };
  return numbersReply([nowUs, ...counters.flatMap((counter) => refundIn(counter, given, today))]);
}

/** `UNDO_LUA`: refunds what a batch admitted whose response nobody got, once. */
export function undo(call: ScriptCall): string {
  const { tables, keys, args } = call;
  if (millisecondOf(call) <= numberAt(call, 1)) return numberReply(MAY_RUN_YET);
  const name = keys.at(-1)!;
  const marker =
    tables.markers.get(name) ??
    tables.markers.set(name, { batch: undefined, expiresAtMs: tables.nowMs() + SLOT_MARKER_MS });
  const { batch } = marker;
  // Says nothing of that call.
  marker.batch = undefined;
  if (batch === undefined || batch.number !== args[0]) return numberReply(DID_NOT_RUN);
  batch.admitted.forEach((admitted, group) => {
    const cost = numberAt(call, group * 3 + 2) * admitted;
    const [label, following] = [numberAt(call, group * 3 + 3), numberAt(call, group * 3 + 4)];
    if (cost === 0) return;
    for (const counterName of keys.slice(group * 2, group * 2 + 2)) {
      const counter = tables.counter(counterName, secondOf(call));
      counter?.grow(secondOf(call));
      refundIn(counter, { cost, second: batch.second, label, following });
    }
  });
  return numberReply(UNDONE);
}

/** `THROTTLE_REFUND_LUA`: refunds one hit. */
export function refundHit(call: ScriptCall): string {
  const window = call.tables.throttles.get(call.keys[0]!);
  window?.slideTo(Math.floor(millisecondOf(call) / numberAt(call, 0)));
  window?.giveBack(numberAt(call, 1), 1);
  return NOTHING;
}
