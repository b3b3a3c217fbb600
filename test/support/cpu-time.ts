/** Time that a processor has worked for this process: what others do on a busy machine adds nothing to it. */

/** Does something, and says how long a processor worked for it, in ms; to a few of them. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  return cpuMsSince(before);
}

/** How long a processor has worked for this process since `process.cpuUsage()` said this, in ms. */
export function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** Time of the yardstick on the quiet machine for which limits of processor time were chosen, in ms. */
const YARDSTICK_MS = 100;
const YARDSTICK = JSON.stringify(
  Array.from({ length: 100_000 }, (_each, index) => ({ id: index, name: `value ${index}` })),
);

/**
 * Returns by how much processor time is dearer now than when limits were chosen, at least 1. Two threads that share a
 * core or its memory both take longer for the same work.
 */
export function slowness(): number {
  const took = cpuMsOf(() => {
    for (let time = 0; time < 3; time++) JSON.stringify(JSON.parse(YARDSTICK));
  });
  return Math.max(1, took / YARDSTICK_MS);
}
