/** What a Node process holds after a full garbage collection, asked through its inspector: no code of the benchmark runs in it. */
import { readFileSync } from 'node:fs';
import { untilReady } from '../processes.mjs';

/** Starts a program with an inspector on a free port. */
export const INSPECTED = ['--inspect=127.0.0.1:0'];

/**
 * @param {{ log: string }} program started with {@link INSPECTED}, its log not yet emptied
 * @returns {Promise<() => Promise<{ heap: number, buffers: number }>>} MB in use after a collection: objects, and memory of buffers
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
    // What finalizers of the first one let go, the second one frees.
    await call('HeapProfiler.collectGarbage');
    await call('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await call('Runtime.getHeapUsage');
    return { heap: usedSize / 1e6, buffers: backingStorageSize / 1e6 };
  };
}
