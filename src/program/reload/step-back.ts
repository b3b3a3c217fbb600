/** A process that nobody waits for makes way for those that serve requests. */
import { readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A third of the share of requests where both want the core: enough to come to an end even if it is never idle. */
const NICE = 5;

/**
 * Lowers the priority of a process, or of one thread where the system gives each its own. Threads
 * that it starts later take it from there.
 */
export function stepBack(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICE);
  } catch {
    // Only latency is at stake; or it has ended already, which is noticed.
  }
}

/**
 * Lowers the priority of this process with the threads that V8 has started before anything of
 * ours ran. Linux alone tells them apart.
 */
export function stepBackWithThreads(): void {
  stepBack(process.pid);
  for (const id of threads()) stepBack(id);
}

function threads(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [];
  }
}

/** Where memory runs out, this process is the one to go. Linux alone knows this. */
export function offerMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Elsewhere the system chooses.
  }
}
