/**
 * Implements the refund scripts of the counting process. They refund a cost in every window that still contains the
 * cost.
 */
import { NOTHING, numberReply, numbersReply } from '../../stores/redis/server/replies.js';
import { labelsAt, millisecondOf, numberAt, secondOf, type ScriptCall } from './script-call.js';
import { SLOT_MARKER_MS } from '../../stores/redis/keys.js';
import type { StoredCounter } from './stored-counter.js';

/** Responses of `UNDO_LUA`. */
const MAY_RUN_YET = -1;
const DID_NOT_RUN = 0;
const UNDONE = 1;
/** Responses of `REFUND_LUA`: a counter is missing, or the node must report first. */
const MISSING = -1;
const MUST_REPORT = -2;

/** Refunds a cost; see `REFUND_LUA`. */
export function refund(call: ScriptCall): string {
  const { tables, keys, args, nowUs } = call;
  const [cost = 0, second = 0, atMs = 0] = args.map(Number);
  const [counted, today, expiresAtMs] = [labelsAt(call, 3), labelsAt(call, 6), numberAt(call, 9)];
  const node = args[10] === '' ? undefined : args[10];
  const counters: (StoredCounter | undefined)[] = [];
  for (const name of keys) {
    const counter = tables.counter(name, secondOf(call));
    const mustReport = counter?.mustReport(secondOf(call), node) === true;
    if (node !== undefined && counter === undefined) return numbersReply([nowUs, MISSING]);
    if (mustReport) return numbersReply([nowUs, MUST_REPORT]);
    counters.push(counter);
  }
  const reply = [nowUs];
  for (const counter of counters) {
    if (counter === undefined) {
      reply.push(0, 0, 0);
      continue;
    }
    const { calendarState } = counter;
    counter.turnTo(today);
    reply.push(counter.refund(cost, { second, atMs, period: counted }), counter.used, counter.usedToday);
    // A refund for another month must not move the counter to the current month.
    if (counter.isInMonthOf(counted)) counter.extendExpiry(expiresAtMs, calendarState);
    else counter.restore(calendarState);
  }
  return numbersReply(reply);
}

/**
 * Refunds the cost of the requests that a batch without a response admitted. Refunds a batch only once; see `UNDO_LUA`.
 */
export function undoBatch(call: ScriptCall): string {
  const { tables, keys, args } = call;
  if (millisecondOf(call) <= numberAt(call, 1)) return numberReply(MAY_RUN_YET);
  const name = keys.at(-1)!;
  const marker =
    tables.markers.get(name) ??
    tables.markers.set(name, { batch: undefined, expiresAtMs: tables.nowMs() + SLOT_MARKER_MS });
  const { batch } = marker;
  // Clear the marker also if it belongs to an earlier batch. The earlier batch got a response, so its marker is not
  // needed.
  marker.batch = undefined;
  if (batch === undefined || batch.number !== args[0]) return numberReply(DID_NOT_RUN);
  batch.admitted.forEach((admitted, group) => {
    const cost = numberAt(call, group * 4 + 2) * admitted;
    if (cost === 0) return;
    const period = labelsAt(call, group * 4 + 3);
    for (const counterName of keys.slice(group * 2, group * 2 + 2)) {
      const counter = tables.counter(counterName, secondOf(call));
      counter?.endYouthIfOver(secondOf(call));
      counter?.refund(cost, { second: batch.second, atMs: batch.second * 1_000, period });
    }
  });
  return numberReply(UNDONE);
}

/** Refunds one hit of a throttle; see `THROTTLE_REFUND_LUA`. */
export function refundHit(call: ScriptCall): string {
  const window = call.tables.throttles.get(call.keys[0]!);
  window?.slideTo(Math.floor(millisecondOf(call) / numberAt(call, 0)));
  window?.refundAt(numberAt(call, 1), 1);
  return NOTHING;
}
