/**
 * Keeps work that nobody waits for from those who wait: in pieces, with turns of the event loop or pauses between them.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Small things, of some microseconds each. */
const ITEMS_PER_TURN = 200;

/** Does something with each of many in their order, and lets the event loop have its turns in between. */
export async function inTurns<Item>(items: readonly Item[], take: (item: Item) => void): Promise<void> {
  for (let from = 0; from < items.length; from += ITEMS_PER_TURN) {
    if (from > 0) await nextTurn();
    for (const item of items.slice(from, from + ITEMS_PER_TURN)) take(item);
  }
}

/**
 * Spreads work that nobody waits for over a span of time. Done in one stretch it would take the core from requests for
 * many milliseconds; in steps with pauses between, a request waits for one step at most.
 */
export class Pace {
  private readonly startMs = performance.now();
  private isHurried = false;
  private timer: NodeJS.Timeout | undefined;
  private wake: (() => void) | undefined;

  /** @param spanMs from now on; 0: without pauses. */
  constructor(private readonly spanMs: number) {}

  /**
   * Waits until as much of the span has passed as of the work is done. At once where the work is behind, or in a hurry.
   */
  async reach(share: number): Promise<void> {
    const waitMs = this.startMs + share * this.spanMs - performance.now();
    if (this.isHurried || waitMs <= 0) return;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      this.timer = setTimeout(resolve, waitMs);
      // Whoever wants the rest before the process ends says so by `hurry`.
      this.timer.unref();
    });
  }

  /** No more pauses: somebody wants the rest now. */
  hurry(): void {
    this.isHurried = true;
    clearTimeout(this.timer);
    this.wake?.();
  }
}
