/**
 * What came of requests while the store could not be told. It is told when the store is back: until then a retry is
 * refused, because the record still says that the request is under way, or that nobody knows.
 */
import type { ClaimTerms, Outcome, RecordStore } from './record.js';

/** Of a process; beyond, what comes is forgotten, and its record ends as unknown. */
const MOST_UNSAID = 10_000;
const PAUSE_MS = 1_000;
const AT_ONCE = 20;
/**
 * A claim that got no response may run behind its release, where a store that stood still reads an old connection last.
 * It is released once more before its lease is over.
 */
const SECOND_RELEASE_MS = 5_000;

interface Unsaid {
  readonly terms: ClaimTerms;
  /** Undefined: it is released. Never with a response, which would be much to hold for many. */
  readonly outcome: Outcome | undefined;
}

/** UnsaidOutcomes tells the store later. */
export class UnsaidOutcomes {
  private readonly waiting: Unsaid[] = [];
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;
  /** Two at once would tell the same, and each would take it off the list. */
  private running: Promise<void> | undefined;

  constructor(private readonly store: Pick<RecordStore, 'release' | 'end'>) {}

  /** How many wait. */
  get length(): number {
    return this.waiting.length;
  }

  /** Takes one. @returns whether there was room for it. */
  add(terms: ClaimTerms, outcome: Outcome | undefined): boolean {
    if (this.waiting.length >= MOST_UNSAID) return false;
    const bare = outcome?.kind === 'done' ? { ...outcome, response: undefined } : outcome;
    this.waiting.push({ terms, outcome: bare });
    this.later();
    return true;
  }

  /** Takes a claim of which nobody knows whether it was made: there must be none. */
  addDoubtful(terms: ClaimTerms): void {
    this.add(terms, undefined);
    setTimeout(() => this.isStopped || this.add(terms, undefined), SECOND_RELEASE_MS).unref();
  }

  /** Tells what it can for the last time. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
    await this.tellAll();
  }

  /** Tells what it can, once. Never rejects. */
  private tellAll(): Promise<void> {
    return (this.running ??= this.tellWaiting().finally(() => (this.running = undefined)));
  }

  private async tellWaiting(): Promise<void> {
    while (this.waiting.length > 0) {
      const some = this.waiting.slice(0, AT_ONCE);
      const told = await Promise.allSettled(some.map((each) => tell(this.store, each)));
      const failed = some.filter((_, at) => told[at]?.status === 'rejected');
      this.waiting.splice(0, some.length, ...failed);
      if (failed.length > 0) return;
    }
  }

  private later(): void {
    if (this.isStopped) return;
    this.timer ??= setTimeout(() => {
      void this.tellAll().then(() => {
        this.timer = undefined;
        if (this.waiting.length > 0) this.later();
      });
    }, PAUSE_MS).unref();
  }
}

async function tell(store: Pick<RecordStore, 'release' | 'end'>, { terms, outcome }: Unsaid): Promise<void> {
  if (outcome === undefined) await store.release(terms);
  else await store.end(terms, outcome);
}
