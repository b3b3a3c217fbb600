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
