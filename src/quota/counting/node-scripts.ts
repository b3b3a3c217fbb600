/** Nodes that say that they are there, throttles, and the time, as the counting process keeps them. */
import { numbersReply, textsReply } from '../../stores/redis/server/replies.js';
import { MINUTE_BUCKETS, SlidingWindow } from '../../platform/sliding-window.js';
import { millisecondOf, numberAt, type ScriptCall } from './script-call.js';

/** `TIME_LUA`. */
export function time({ nowUs }: ScriptCall): string {
  return textsReply([String(Math.floor(nowUs / 1_000_000)), String(nowUs % 1_000_000)]);
}

/**
 * `HEARTBEAT_LUA`: how many nodes there are, whether this one was not among them, and by what these tables are told
 * from others; while nodes are waited for, also 1 for that.
 */
export function heartbeat(call: ScriptCall): string {
  const { tables } = call;
  const { nodes, awaited } = tables;
  const [node = '', , , handedInTo = '', epochOfNone] = call.args;
  const nowMs = millisecondOf(call);
  const isNew = node !== '' && !nodes.has(node);
  if (node !== '') nodes.set(node, nowMs);
  let rank = 0;
  for (const [name, heardMs] of nodes) {
    if (heardMs <= nowMs - numberAt(call, 1)) nodes.delete(name);
    else if (name < node) rank += 1;
  }
  tables.epoch ??= Number(epochOfNone);
  // One that hears it for the first time may have handed in to the process before.
  if (handedInTo === String(tables.epoch)) awaited.heard(node);
  return numbersReply([nodes.size, rank, isNew ? 1 : 0, tables.epoch, ...(awaited.isWaiting ? [1] : [])]);
}

/** `THROTTLE_LUA`: one hit of a throttle. */
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
