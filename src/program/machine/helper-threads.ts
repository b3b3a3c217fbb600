/**
 * Lets the event loop go first where it shares a core with V8's threads, which compile and collect. Nobody waits for
 * what they do, and every request waits for the event loop: without this, each of them has as long turns on the core
 * (decision 0026). SQLite's thread steps back by itself.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { setFlagsFromString } from 'node:v8';

/** What Node calls them; the system shows no more than 15 characters. */
const V8_THREAD = 'node-V8Worker';
const TASKS = '/proc/self/task';
/** A third of the event loop's share while both want the core: enough to come to an end even if it is never idle. */
const NICE = 5;

/**
 * For a process that serves requests. Linux alone has priorities of threads; elsewhere nothing is done. Never throws.
 */
export function letEventLoopGoFirst(): void {
  if (process.platform !== 'linux') return;
  // The event loop would wait for their part of a collection of young objects. So little
  // survives one that it is done sooner alone.
  setFlagsFromString('--no-parallel-scavenge');
  try {
    for (const id of readdirSync(TASKS)) {
      if (readFileSync(`${TASKS}/${id}/comm`, 'utf8').startsWith(V8_THREAD)) setPriority(Number(id), NICE);
    }
  } catch {
    // No /proc, or a thread that has just ended: only latency is at stake.
  }
}
