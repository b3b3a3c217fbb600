/**
 * Delays signals until their handlers are installed. During the start, the default actions would be wrong. SIGHUP would
 * end a process that should reload its configuration, and SIGTERM a process that is opening its stores. Process 1 of a
 * container would ignore SIGTERM. This file imports nothing, so that it can run first.
 */

const HELD = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
export type HeldSignal = (typeof HELD)[number];

/** Signals that were received before their handler was installed. */
const pending = new Set<HeldSignal>();
const hold = (name: HeldSignal): void => void pending.add(name);

/** Starts to delay the signals, each until its handler is installed. */
export function holdSignals(): void {
  for (const name of HELD) process.on(name, hold);
}

/** Installs a handler. Calls it at once if the signal has already arrived. */
export function onSignal(name: HeldSignal, listener: () => void): void {
  process.on(name, listener);
  process.off(name, hold);
  if (pending.delete(name)) listener();
}
