/**
 * Writes what came of attempts: those that end while one transaction is under way share the next one. What cannot be
 * written waits, and while it does nothing new begins: an attempt that nobody remembers would be made for ever.
 */
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';

/** Between two tries while the database is away; doubles. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

interface Waiting<Item, Written> {
  readonly item: Item;
  readonly resolve: (written: Written) => void;
  readonly reject: (error: unknown) => void;
}

/** ResultsWriter gathers. Bounded by who writes: each waits for its own. */
export class ResultsWriter<Item, Written> {
  private waiting: Waiting<Item, Written>[] = [];
  private isWriting = false;
  private pauseMs = 0;
  private isStopped = false;

  /**
   * @param writeAll one transaction; resolves with what it has written, in the order of the items.
   * @param most items of one transaction.
   */
  constructor(
    private readonly writeAll: (items: readonly Item[]) => Promise<readonly Written[]>,
    private readonly most: number,
  ) {}

  /** Whether nothing could be written when it was tried last. */
  get isStuck(): boolean {
    return this.pauseMs > 0;
  }

  /** Resolves when it stands in the database. Rejects where the database has refused it, and when the program ends. */
  write(item: Item): Promise<Written> {
    return new Promise((resolve, reject) => {
      if (this.isStopped) return reject(new DatabaseUnavailable('the results of webhooks are not written any more'));
      this.waiting.push({ item, resolve, reject });
      if (!this.isWriting) void this.writeWaiting();
    });
  }

  /** Gives up what waits for a database that is away: the leases end, and others make those attempts again. */
  stop(): void {
    this.isStopped = true;
    for (const { reject } of this.waiting.splice(0)) reject(new DatabaseUnavailable('the program ends'));
  }

  private async writeWaiting(): Promise<void> {
    this.isWriting = true;
    // What ends in this turn of the event loop is in it.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.most);
      const isWritten = await this.writeBatch(batch);
      if (isWritten) this.pauseMs = 0;
      else await this.pause(batch);
    }
    this.isWriting = false;
  }

  /** False: the database is away. */
  private async writeBatch(batch: readonly Waiting<Item, Written>[]): Promise<boolean> {
    try {
      const written = await this.writeAll(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, at) => resolve(written[at]!));
      return true;
    } catch (error) {
      if (error instanceof DatabaseUnavailable) return false;
      const [only] = batch;
      if (batch.length === 1) only?.reject(error);
      // One of them is at fault: the others are not to wait for it.
      else for (const one of batch) if (!(await this.writeBatch([one]))) this.waiting.unshift(one);
      return true;
    }
  }

  private async pause(batch: readonly Waiting<Item, Written>[]): Promise<void> {
    this.waiting.unshift(...batch);
    if (this.isStopped) return this.stop();
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, this.pauseMs === 0 ? FIRST_PAUSE_MS : this.pauseMs * 2);
    await new Promise((resolve) => setTimeout(resolve, this.pauseMs).unref());
  }
}
