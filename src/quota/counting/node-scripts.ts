/** Implements the scripts of the counting process for heartbeats, throttles and the time. */
import { numbersReply, textsReply } from '../../stores/redis/server/replies.js';
import { MINUTE_BUCKETS, SlidingWindow } from '../../platform/sliding-window.js';
import { millisecondOf, numberAt, type ScriptCall } from './script-call.js';

/** Returns the time; see `TIME_LUA`. */
export function time({ nowUs }: ScriptCall): string {
  return textsReply([String(Math.floor(nowUs / 1_000_000)), String(nowUs % 1_000_000)]);
}

/**
 * Registers a heartbeat; see `HEARTBEAT_LUA`. While the process waits for reports, the reply ends with an additional 1.
 */
export function heartbeat(call: ScriptCall): string {
  const { tables } = call;
  const { nodes, awaited } = tables;
  const [node = '', , , reportedTo = '', newEpoch] = call.args;
  const nowMs = millisecondOf(call);
  const isNew = node !== '' && !nodes.has(node);
  if (node !== '') nodes.set(node, nowMs);
  let rank = 0;
  for (const [name, heardMs] of nodes) {
    if (heardMs <= nowMs - numberAt(call, 1)) nodes.delete(name);
    else if (name < node) rank += 1;
  }
  tables.epoch ??= Number(newEpoch);
  // Accept a report only for this epoch. A node that does not know the epoch yet may have reported to an earlier
  // process.
  if (reportedTo === String(tables.epoch)) awaited.recordReport(node);
  return numbersReply([nodes.size, rank, isNew ? 1 : 0, tables.epoch, ...(awaited.isWaiting ? [1] : [])]);
}

/** Counts one hit of a throttle; see `THROTTLE_LUA`. */
export function throttle(call: ScriptCall): string {
  const { throttles } = call.tables;
  const [lengthMs, limit] = [numberAt(call, 0), numberAt(call, 1)];
  const ms = millisecondOf(call);
  const name = call.keys[0]!;
  const window = throttles.get(name) ?? new SlidingWindow();
  window.slideTo(Math.floor(ms / lengthMs));
  if (window.sum >= limit) {
    const freedAt = window.freedAt(window.sum + 1 - limit);
    return numbersReply([0, window.sum, freedAt * lengthMs - ms, window.current]);
  }
  throttles.set(name, window);
  window.add(1);
  return numbersReply([1, window.sum, (window.oldest + MINUTE_BUCKETS) * lengthMs - ms, window.current]);
}
