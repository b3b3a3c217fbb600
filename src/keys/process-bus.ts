/** Implements the invalidation bus within one process, for installations without Redis. */
import type { Heard, Invalidation, InvalidationBus } from './api-key.js';

export class ProcessBus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];

  /**
   * @param isAlone whether this is the only process that uses the database. If not, changes by other processes are
   *   missed.
   */
  constructor(private readonly isAlone: boolean) {}

  async publish(change: Invalidation): Promise<void> {
    for (const listener of this.listeners) listener(change);
  }

  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }

  connectedSince(): number | null {
    return this.isAlone ? 0 : null;
  }

  lastReceived(): Heard {
    return { untilMs: this.isAlone ? Infinity : -Infinity, gapFromMs: null };
  }
}
