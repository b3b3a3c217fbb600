/** Invalidation inside one process: nothing can be missed. */
import type { Invalidation, InvalidationBus } from './api-key.js';

export class ProcessBus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];

  async publish(change: Invalidation): Promise<void> {
    for (const listener of this.listeners) listener(change);
  }

  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }

  connectedSince(): number | null {
    return 0;
  }
}
