/**
 * Lowers the priority of V8's compiler and garbage collector threads, so that the event loop runs first on a shared
 * core (decision 0026). SQLite's thread lowers its own priority.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/** Prefix of the names that Node gives V8's threads. The system cuts thread names to 15 characters. */
const V8_THREAD = 'node-V8Worker';
const TASKS = '/proc/self/task';
/**
 * Nice value that gives the threads a third of the event loop's share of a core. The threads make progress even if the
 * event loop is never idle.
 */
const NICE = 5;

/**
 * Lowers the priority of V8's threads. Call this in processes that serve requests. Does nothing on systems other than
 * Linux. Never throws.
 */
export function lowerHelperThreadPriority(): void {
  if (process.platform !== 'linux') return;
  // In parallel collections, the event loop would wait for these threads. Few young objects survive, so the event loop
  // collects faster alone.
  setFlagsFromString('--no-parallel-scavenge');
  try {
    for (const id of readdirSync(TASKS)) {
      if (readFileSync(`${TASKS}/${id}/comm`, 'utf8').startsWith(V8_THREAD)) setPriority(Number(id), NICE);
    }
  } catch {
    // /proc is missing, or a thread has just ended. Only latency is affected.
  }
}
