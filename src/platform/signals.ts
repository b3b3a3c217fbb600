/**
 * Signals from the program's first line on. Nothing has been set up then, and what a signal does by itself is wrong:
 * SIGHUP ends a process that was only asked to read its configuration, SIGTERM one that has half opened its stores,
 * and as the first process of a container it would be lost. What comes before somebody listens is kept. Loads
 * nothing, so that it is there at once.
 */

const HELD = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
export type HeldSignal = (typeof HELD)[number];

/** What has come and nobody has heard. */
const kept = new Set<HeldSignal>();
const keep = (name: HeldSignal): void => void kept.add(name);

/** Keeps them from now on, each until somebody listens to it. */
export function holdSignals(): void {
  for (const name of HELD) process.on(name, keep);
}

/** Calls `listener` with each of these signals, and at once where one has come and been kept. */
export function onSignal(name: HeldSignal, listener: () => void): void {
  process.on(name, listener);
  process.off(name, keep);
  if (kept.delete(name)) listener();
}
