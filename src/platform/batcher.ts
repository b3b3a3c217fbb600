/**
 * Combines single requests into calls for many items. Items that are added in one turn of the event loop, or while a
 * call is running, share the next call. A thousand readers of one database connection then wait for only a few round
 * trips.
 */

/**
 * Limits of the pause before a call is repeated because the other side is unavailable. The pause doubles with each
 * failure.
 */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** BatcherOptions are the limits of a batcher, and its rules for errors. */
export interface BatcherOptions<Item> {
  /** Maximum sum of item sizes per call. A larger item is sent alone. */
  readonly most: number;
  /** Returns the size of an item. The default is 1. */
  readonly sizeOf?: (item: Item) => number;
  /**
   * Reports whether a single item may have caused the failure of a call. If so, each item is retried alone. The default
   * is false.
   */
  readonly isItemError?: (error: unknown) => boolean;
  /**
   * Reports whether a call failed because the other side is unavailable. If so, its items wait and are retried. The
   * default is false.
   */
  readonly isAway?: (error: unknown) => boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private isCalling = false;
  private pauseMs = 0;
  private stopped: Error | undefined;

  /** @param call processes all given items, and resolves to one result per item, in order */
  constructor(
    private readonly call: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly options: BatcherOptions<Item>,
  ) {}

  /** Number of items that wait for a call. */
  get length(): number {
    return this.waiting.length;
  }

  /** True if the other side was unavailable at the last attempt. */
  get isStuck(): boolean {
    return this.pauseMs > 0;
  }

  /** Adds an item. Resolves to its result. Rejects with the error of the call, or with the reason given to `stop`. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.stopped !== undefined) return reject(this.stopped);
      this.waiting.push({ item, resolve, reject });
      if (!this.isCalling) void this.callForWaiting();
    });
  }

  /** Rejects all waiting and all future items. */
  stop(reason: Error): void {
    this.stopped = reason;
    for (const { reject } of this.waiting.splice(0)) reject(reason);
  }

  private async callForWaiting(): Promise<void> {
    this.isCalling = true;
    // Other items of this turn of the event loop join the call.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.nextCount());
      if (await this.callFor(batch)) this.pauseMs = 0;
      else await this.pause(batch);
    }
    this.isCalling = false;
  }

  private nextCount(): number {
    const { most, sizeOf = () => 1 } = this.options;
    let size = 0;
    const end = this.waiting.findIndex(({ item }, at) => {
      size += sizeOf(item);
      return at > 0 && size > most;
    });
    return end === -1 ? this.waiting.length : end;
  }

  /** Calls for a batch and settles its items. Resolves to false if the other side is unavailable. Never rejects. */
  private async callFor(batch: readonly Waiting<Item, Result>[]): Promise<boolean> {
    try {
      const results = await this.call(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, at) => resolve(results[at]!));
      return true;
    } catch (error) {
      if (this.options.isAway?.(error) === true) return false;
      if (batch.length > 1 && this.options.isItemError?.(error) === true) {
        for (const one of batch) if (!(await this.callFor([one]))) this.waiting.unshift(one);
        return true;
      }
      for (const { reject } of batch) reject(error);
      return true;
    }
  }

  /** Puts a batch back into the queue, and waits before the next attempt. After `stop`, rejects the items instead. */
  private async pause(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.waiting.unshift(...batch);
    if (this.stopped !== undefined) return this.stop(this.stopped);
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, this.pauseMs === 0 ? FIRST_PAUSE_MS : this.pauseMs * 2);
    await new Promise((resolve) => setTimeout(resolve, this.pauseMs).unref());
  }
}
