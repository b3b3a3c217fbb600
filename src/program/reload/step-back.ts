/** Lowers the priority of background processes in favor of those that serve requests. */
import { readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** A third of the share of requests, so that the process makes progress even if the core is never idle. */
const NICE = 5;

/**
 * Lowers the priority of a process, or of one thread on systems with thread priorities. Threads that it starts later
 * inherit the priority.
 */
export function stepBack(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICE);
  } catch {
    // Only latency is affected. Or the process has already ended, which its parent notices.
  }
}

/**
 * Lowers the priority of this process and of the threads that V8 has already started. The latter only on Linux.
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

/** Makes the system kill this process first if memory runs out. Only on Linux. */
export function offerMemory(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // Not supported on other systems.
  }
}
