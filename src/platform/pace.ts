/** Runs background work in pieces, so that it does not delay requests. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Number of items per turn of the event loop. Each item should take only a few microseconds. */
const ITEMS_PER_TURN = 200;

/** Calls a function for each item in order, and yields to the event loop after every 200 items. */
export async function inTurns<Item>(items: readonly Item[], action: (item: Item) => void): Promise<void> {
  for (let from = 0; from < items.length; from += ITEMS_PER_TURN) {
    if (from > 0) await nextTurn();
    for (const item of items.slice(from, from + ITEMS_PER_TURN)) action(item);
  }
}

/**
 * Pace spreads background work over a time span. Without pauses, the work would block requests for many milliseconds.
 * With pauses, a request waits for one step at most.
 */
export class Pace {
  private readonly startMs = performance.now();
  private isHurried = false;
  private timer: NodeJS.Timeout | undefined;
  private wake: (() => void) | undefined;

  /** @param spanMs length of the time span, which begins now; 0 for no pauses */
  constructor(private readonly spanMs: number) {}

  /**
   * Waits until the given share of the span has passed. Returns at once if the work is late, or after `skipPauses`.
   * @param share completed part of the work, from 0 to 1
   */
  async waitUntilShare(share: number): Promise<void> {
    const waitMs = this.startMs + share * this.spanMs - performance.now();
    if (this.isHurried || waitMs <= 0) return;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      this.timer = setTimeout(resolve, waitMs);
      // The timer must not keep the process alive. `skipPauses` ends the pause at shutdown.
      this.timer.unref();
    });
  }

  /** Ends the current pause, and skips all later pauses. */
  skipPauses(): void {
    this.isHurried = true;
    clearTimeout(this.timer);
    this.wake?.();
  }
}
