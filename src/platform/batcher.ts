/**
 * Combines calls. Items that come in one turn of the event loop, or while a call is under way, share the next call. A
 * thousand readers of one database connection then wait for a few round trips.
 */

/** Between two tries while the other side is away; doubles. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** How a batcher treats its items; each is optional but `most`. */
export interface BatcherOptions<Item> {
  /** The largest sum of item sizes in one call. A larger item goes alone. */
  readonly most: number;
  /** Returns the size of an item; 1 unless given. */
  readonly sizeOf?: (item: Item) => number;
  /** Returns whether a failed call may be the fault of one item. Each is then tried by itself. Unless given: never. */
  readonly isOneAtFault?: (error: unknown) => boolean;
  /** Returns whether a call failed because the other side is away. Its items then wait for it. Unless given: never. */
  readonly isAway?: (error: unknown) => boolean;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** Batcher gathers items. It holds no more of them than there are callers that wait. */
export class Batcher<Item, Result> {
  private waiting: Waiting<Item, Result>[] = [];
  private isCalling = false;
  private pauseMs = 0;
  private stopped: Error | undefined;

  /** @param call does it for all items at once, and resolves with a result for each, in their order. */
  constructor(
    private readonly call: (items: readonly Item[]) => Promise<readonly Result[]>,
    private readonly options: BatcherOptions<Item>,
  ) {}

  /** How many items wait for their call. */
  get length(): number {
    return this.waiting.length;
  }

  /** Whether the other side was away at the last try. */
  get isStuck(): boolean {
    return this.pauseMs > 0;
  }

  /** Resolves with the item's result. Rejects as the call does, and with the reason of `stop` behind it. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.stopped !== undefined) return reject(this.stopped);
      this.waiting.push({ item, resolve, reject });
      if (!this.isCalling) void this.callForWaiting();
    });
  }

  /** Rejects what waits, and all that comes from now on. */
  stop(reason: Error): void {
    this.stopped = reason;
    for (const { reject } of this.waiting.splice(0)) reject(reason);
  }

  private async callForWaiting(): Promise<void> {
    this.isCalling = true;
    // Items of this turn of the event loop share the call.
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

  /** Resolves with false where the other side is away. Never rejects. */
  private async callFor(batch: readonly Waiting<Item, Result>[]): Promise<boolean> {
    try {
      const results = await this.call(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, at) => resolve(results[at]!));
      return true;
    } catch (error) {
      if (this.options.isAway?.(error) === true) return false;
      if (batch.length > 1 && this.options.isOneAtFault?.(error) === true) {
        for (const one of batch) if (!(await this.callFor([one]))) this.waiting.unshift(one);
        return true;
      }
      for (const { reject } of batch) reject(error);
      return true;
    }
  }

  private async pause(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.waiting.unshift(...batch);
    if (this.stopped !== undefined) return this.stop(this.stopped);
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, this.pauseMs === 0 ? FIRST_PAUSE_MS : this.pauseMs * 2);
    await new Promise((resolve) => setTimeout(resolve, this.pauseMs).unref());
  }
}
