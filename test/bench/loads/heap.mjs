/** Measures the heap of a Node process after a full garbage collection, through its inspector. */
import { readFileSync } from 'node:fs';
import { untilReady } from '../processes.mjs';

/** Arguments of Node that open an inspector on a free port. */
export const INSPECTED = ['--inspect=127.0.0.1:0'];

/**
 * Connects to the inspector of a program. Call it before the log is truncated, because the log contains the address.
 * @param {{ log: string }} program program started with {@link INSPECTED}
 * @returns {Promise<() => Promise<{ heap: number, buffers: number }>>} a function that collects garbage and resolves to
 *   the memory in use, in MB: objects on the heap, and contents of buffers
 */
export async function openHeap(program) {
  const address = () => /Debugger listening on (ws:\S+)/.exec(readFileSync(program.log, 'utf8'))?.[1];
  const socket = new WebSocket(await untilReady(program, address));
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true });
    socket.addEventListener('error', () => reject(new Error('the inspector cannot be reached')), { once: true });
  });
  const waiting = new Map();
  socket.addEventListener('message', ({ data }) => {
    const { id, result } = JSON.parse(data);
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  let calls = 0;
  const call = (method) =>
    new Promise((resolve) => {
      waiting.set(++calls, resolve);
      socket.send(JSON.stringify({ id: calls, method }));
    });
  return async () => {
    // The second collection frees what finalizers have released after the first one.
    await call('HeapProfiler.collectGarbage');
    await call('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await call('Runtime.getHeapUsage');
    return { heap: usedSize / 1e6, buffers: backingStorageSize / 1e6 };
  };
}
