/** Measures the CPU time of this process. Other processes on a busy machine do not add to it. */

/** Runs a function and returns its CPU time in ms, accurate to a few milliseconds. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  return cpuMsSince(before);
}

/** Returns the CPU time in ms since `before`, a result of `process.cpuUsage()`. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Time in ms of the reference work on the idle machine for which the CPU time limits were chosen. */
const YARDSTICK_MS = 100;
const YARDSTICK = JSON.stringify(
  Array.from({ length: 100_000 }, (_each, index) => ({ id: index, name: `value ${index}` })),
);

/**
 * Measures how much slower the CPU is now than when the limits were chosen. Returns a factor of at least 1. Threads
 * that share a core or its memory take longer for the same work.
 */
export function measureSlowness(): number {
  const took = cpuMsOf(() => {
    for (let time = 0; time < 3; time++) JSON.stringify(JSON.parse(YARDSTICK));
  });
  return Math.max(1, took / YARDSTICK_MS);
}
