/**
 * Keeps outcomes that could not be written because the store was unavailable, and writes them when it is back. Until
 * then retries are refused, because the record still says that the request is in progress or its outcome unknown.
 */
import type { ClaimTerms, Outcome, RecordStore } from './record.js';

/** Maximum number of outcomes in a process. Further ones are dropped, and their records end as unknown. */
const MAX_PENDING = 10_000;
const PAUSE_MS = 1_000;
const BATCH_SIZE = 20;
/**
 * A claim that timed out may reach the store after its release: a store that hung may read the older connection last.
 * So the claim is released a second time, before its lease expires.
 */
const SECOND_RELEASE_MS = 5_000;

interface PendingOutcome {
  readonly terms: ClaimTerms;
  /** Undefined if the claim is to be released. Never has a response, to save memory. */
  readonly outcome: Outcome | undefined;
}

/** PendingOutcomes writes outcomes to the store schedule. */
export class PendingOutcomes {
  private readonly waiting: PendingOutcome[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;
  /** The current run. Concurrent runs would write the same outcomes and remove them from the list twice. */
  private running: Promise<void> | undefined;

  constructor(private readonly store: Pick<RecordStore, 'release' | 'end'>) {}

  get length(): number {
    return this.waiting.length;
  }

  /**
   * Adds an outcome, without its response.
   * @param outcome undefined to release the claim.
   * @returns false if there is no space, and the outcome is lost.
   */
  add(terms: ClaimTerms, outcome: Outcome | undefined): boolean {
    if (this.waiting.length >= MAX_PENDING) return false;
    const bare = outcome?.kind === 'done' ? { ...outcome, response: undefined } : outcome;
    this.waiting.push({ terms, outcome: bare });
    this.schedule();
    return true;
  }

  /** Adds the release of a claim that may or may not have reached the store. It is released twice. */
  addDoubtful(terms: ClaimTerms): void {
    this.add(terms, undefined);
    setTimeout(() => this.isStopped || this.add(terms, undefined), SECOND_RELEASE_MS).unref();
  }

  /** Tries to write all outcomes a last time. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
    await this.writeAll();
  }

  /** Writes outcomes until one fails. Never rejects. Joins the current run, if there is one. */
  private writeAll(): Promise<void> {
    return (this.running ??= this.writeBatches().finally(() => (this.running = undefined)));
  }

  private async writeBatches(): Promise<void> {
    while (this.waiting.length > 0) {
      const some = this.waiting.slice(0, BATCH_SIZE);
      const results = await Promise.allSettled(some.map((each) => write(this.store, each)));
      const failed = some.filter((_, at) => results[at]?.status === 'rejected');
      this.waiting.splice(0, some.length, ...failed);
      if (failed.length > 0) return;
    }
  }

  private schedule(): void {
    if (this.isStopped) return;
    this.timer ??= setTimeout(() => {
      void this.writeAll().then(() => {
        this.timer = undefined;
        if (this.waiting.length > 0) this.schedule();
      });
    }, PAUSE_MS).unref();
  }
}

async function write(store: Pick<RecordStore, 'release' | 'end'>, { terms, outcome }: PendingOutcome): Promise<void> {
  if (outcome === undefined) await store.release(terms);
  else await store.end(terms, outcome);
}
