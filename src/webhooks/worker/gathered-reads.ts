/**
 * Reads that begin in the same turn of the event loop, and while one is under way, share a query. With a thousand lanes
 * at work each read by itself would wait for all those before it: a round trip each on SQLite's one connection.
 */
interface Waiting<Asked, Found> {
  readonly asked: Asked;
  readonly resolve: (found: Found) => void;
  readonly reject: (error: unknown) => void;
}

/** GatheredReads gathers. Bounded by who reads: each waits for its own. */
export class GatheredReads<Asked, Found> {
  private waiting: Waiting<Asked, Found>[] = [];
  private isReading = false;

  /**
   * @param readAll one query; resolves with what was found, in the order in which it was asked for.
   * @param most of one query.
   */
  constructor(
    private readonly readAll: (asked: readonly Asked[]) => Promise<readonly Found[]>,
    private readonly most: number,
  ) {}

  /** Rejects as the database does. */
  read(asked: Asked): Promise<Found> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ asked, resolve, reject });
      if (!this.isReading) void this.readWaiting();
    });
  }

  private async readWaiting(): Promise<void> {
    this.isReading = true;
    await new Promise((resolve) => setImmediate(resolve));
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.most);
      try {
        const found = await this.readAll(batch.map(({ asked }) => asked));
        batch.forEach(({ resolve }, at) => resolve(found[at]!));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.isReading = false;
  }
}
