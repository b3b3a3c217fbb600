/** Invalidation inside one process: nothing can be missed, as long as there is no other process. */
import type { Heard, Invalidation, InvalidationBus } from './api-key.js';

export class ProcessBus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];

  /** @param alone whether this is the only process on its database; else changes made by others are not heard of. */
  constructor(private readonly alone: boolean) {}

  async publish(change: Invalidation): Promise<void> {
    for (const listener of this.listeners) listener(change);
  }

  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }

  connectedSince(): number | null {
    return this.alone ? 0 : null;
  }

  heard(): Heard {
    return { untilMs: this.alone ? Infinity : -Infinity, gapFromMs: null };
  }
}
