/**
 * Lowers the priority of V8's compiler and garbage collector threads, so that the event loop runs first if they share a
 * core (decision 0026). SQLite's thread lowers its priority itself.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/** Thread name in Node, cut to 15 characters by the system. */
const V8_THREAD = 'node-V8Worker';
const TASKS = '/proc/self/task';
/** A third of the share of the event loop, so that the threads make progress even if it is never idle. */
const NICE = 5;

/**
 * Sets the priorities. Call in processes that serve requests. Does nothing except on Linux. Never throws.
 */
export function letEventLoopGoFirst(): void {
  if (process.platform !== 'linux') return;
  // With parallel collections, the event loop would wait for these threads. Few young objects survive, so it is faster
  // alone.
  setFlagsFromString('--no-parallel-scavenge');
  try {
    for (const id of readdirSync(TASKS)) {
      if (readFileSync(`${TASKS}/${id}/comm`, 'utf8').startsWith(V8_THREAD)) setPriority(Number(id), NICE);
    }
  } catch {
    // Without /proc, or if a thread has just ended. Only latency is affected.
  }
}
