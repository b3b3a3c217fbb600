/** Lowers the priority of background processes, so that processes that serve requests run first. */
import { readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Nice value that gives a process a third of the CPU share of a process that serves requests. The process makes
 * progress even if the core is never idle.
 */
const NICE = 5;

/**
 * Lowers the priority of a process, or of one thread on systems with thread priorities. Threads that the process starts
 * later inherit the priority. Never throws. Does nothing for undefined.
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, NICE);
  } catch {
    // The priority only affects latency. If the process has already ended, its parent handles the end.
  }
}

/**
 * Lowers the priority of this process. On Linux, also lowers the priority of the threads that V8 has already started.
 */
export function lowerOwnPriority(): void {
  lowerPriority(process.pid);
  for (const id of threads()) lowerPriority(id);
}

function threads(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [];
  }
}

/** Makes Linux kill this process first if memory runs out. Does nothing on other systems. */
export function preferForOomKill(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000');
  } catch {
    // This file exists only on Linux.
  }
}
