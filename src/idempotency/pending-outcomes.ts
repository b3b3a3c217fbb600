/**
 * Retries outcomes that could not be written because the store was unavailable. Until an outcome is written, its record
 * says that the request is in progress, or that its outcome is unknown. Retries of the client are refused during that
 * time.
 */
import type { ClaimTerms, Outcome, RecordStore } from './record.js';

/**
 * Maximum number of waiting outcomes in a process. Further outcomes are lost, and their records become unknown when
 * their leases expire.
 */
const MAX_PENDING = 10_000;
/** Pause in ms before each retry. */
const PAUSE_MS = 1_000;
const BATCH_SIZE = 20;
/**
 * A claim that timed out may reach the store after its release, because both can use different connections. The claim
 * is therefore released a second time, before its lease expires.
 */
const SECOND_RELEASE_MS = 5_000;

interface PendingOutcome {
  readonly terms: ClaimTerms;
  /** Undefined if the claim must be released. Outcomes are kept without their responses, to save memory. */
  readonly outcome: Outcome | undefined;
}

/** PendingOutcomes retries outcomes until the store accepts them. */
export class PendingOutcomes {
  private readonly waiting: PendingOutcome[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;
  /** The run in progress. Concurrent runs would write the same outcomes, and remove other outcomes from the list. */
  private running: Promise<void> | undefined;

  constructor(private readonly store: Pick<RecordStore, 'release' | 'end'>) {}

  get length(): number {
    return this.waiting.length;
  }

  /**
   * Adds an outcome, without its response.
   * @param outcome undefined to release the claim.
   * @returns false if the list is full. The outcome is then lost.
   */
  add(terms: ClaimTerms, outcome: Outcome | undefined): boolean {
    if (this.waiting.length >= MAX_PENDING) return false;
    const withoutResponse = outcome?.kind === 'done' ? { ...outcome, response: undefined } : outcome;
    this.waiting.push({ terms, outcome: withoutResponse });
    this.schedule();
    return true;
  }

  /**
   * Adds the release of a claim that may or may not have reached the store. Adds the release again after five seconds.
   */
  addDoubtful(terms: ClaimTerms): void {
    this.add(terms, undefined);
    setTimeout(() => this.isStopped || this.add(terms, undefined), SECOND_RELEASE_MS).unref();
  }

  /** Stops the retries, and tries one last time to write all outcomes. Never rejects. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
    await this.writeAll();
  }

  /**
   * Writes all outcomes in batches, and stops after a batch with a failure. Never rejects. If a run is in progress,
   * waits for that run instead.
   */
  private writeAll(): Promise<void> {
    return (this.running ??= this.writeBatches().finally(() => (this.running = undefined)));
  }

  private async writeBatches(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.slice(0, BATCH_SIZE);
      const results = await Promise.allSettled(batch.map((each) => write(this.store, each)));
      const failed = batch.filter((_, at) => results[at]?.status === 'rejected');
      this.waiting.splice(0, batch.length, ...failed);
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
