/**
 * Requests with an `Idempotency-Key` in this process: each claims its record before anything is done, its lease is
 * extended while it is under way, and what came of it is told to the store before its client has the last byte.
 *
 * Without the store no such request is carried out: a client that sends a key asks for once or not at all. Requests
 * without a key never come here.
 */
import { randomBytes } from 'node:crypto';
import { Breaker } from '../platform/breaker.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import type { ReadsGauges } from '../platform/metrics-text.js';
import { FreeRequests } from './free-requests.js';
import { KeyClaim, Replay, type ClaimOwner, type Keyed } from './key-claim.js';
import type { ClaimTerms, Claimed, KeptResponse, Outcome, RecordName, RecordStore } from './record.js';
import { inProgress, MISMATCH, notStored, OUTCOME_UNKNOWN, tooManyRetries, unavailable } from './refusals.js';
import { StorageBudget } from './storage-budget.js';
import type { Problem } from '../platform/problems/errors.js';
import { UnsaidOutcomes } from './unsaid.js';

/**
 * How long a process may be silent before nobody knows what came of its requests. It says that it lives three times in
 * this time.
 */
export const LEASE_MS = 15_000;
const EXTENSION_INTERVAL_MS = LEASE_MS / 3;
/** The longest that a request waits for its claim: a statement of the database may take 2 s, a call to Redis 250 ms. */
const CLAIM_TIMEOUT_MS = 2_500;
/** The longest that a response waits for being kept. */
const RESPONSE_TIMEOUT_MS = 500;
/** Requests with a claim in this process; one more is refused. */
const MOST_CLAIMS = 20_000;
const OWNER_BYTES = 12;

/** KeyedRequests claims records, and sees to their ends. */
export class KeyedRequests implements ClaimOwner, ReadsGauges {
  private readonly open = new Map<ClaimTerms, number>();
  private readonly telling = new Set<Promise<void>>();
  private readonly unsaid: UnsaidOutcomes;
  private readonly free: FreeRequests;
  private readonly budget: StorageBudget;
  private readonly breaker: Breaker;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly store: RecordStore,
    clock: Clock,
    private readonly log: Logger,
  ) {
    this.unsaid = new UnsaidOutcomes(store);
    this.free = new FreeRequests(clock);
    this.budget = new StorageBudget(clock);
    this.breaker = new Breaker(clock);
    this.timer = setInterval(() => void this.extend(), EXTENSION_INTERVAL_MS).unref();
  }

  /** Claims the record of a request, or says what its client is told instead. Never rejects. */
  async claim(accountId: string, name: RecordName, fingerprint: string, retentionMs: number): Promise<Keyed | Problem> {
    const waitMs = this.free.waitMs(name.caller);
    if (waitMs > 0) return count('throttled', tooManyRetries(waitMs));
    const { breaker } = this;
    const isFull = this.open.size >= MOST_CLAIMS || this.store.room === 'none';
    if (isFull || !breaker.allows()) return count('unavailable', unavailable(breaker.waitMs));
    const owner = randomBytes(OWNER_BYTES).toString('base64url');
    const terms: ClaimTerms = { name, accountId, fingerprint, owner, leaseMs: LEASE_MS, retentionMs };
    try {
      const claimed = await within(CLAIM_TIMEOUT_MS, this.store.claim(terms));
      if (breaker.succeeded())
        this.log.info({ event: 'idempotency_store_back' }, 'Idempotency keys are looked up again');
      return this.conclude(claimed, terms);
    } catch (error) {
      this.noteFailure(error);
      // It may have been claimed, or be claimed yet.
      this.unsaid.addDoubtful(terms);
      return count('unavailable', unavailable(breaker.waitMs, error));
    }
  }

  released(terms: ClaimTerms): void {
    METRICS.idempotentOutcomes.series('released').inc();
    this.free.note(terms.name.caller);
    this.tell(terms, undefined);
  }

  ended(terms: ClaimTerms, outcome: Outcome, done?: (isStored: boolean) => void): void {
    this.tell(terms, this.asRoomAllows(terms, outcome), done);
  }

  readGauges(): void {
    METRICS.idempotencyClaims.series().set(this.open.size);
    METRICS.idempotencyUnsaid.series().set(this.unsaid.length);
  }

  /** Tells the store what it can be told of, and lets it go. Never rejects. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.telling);
    await within(CLAIM_TIMEOUT_MS, this.unsaid.stop()).catch(() => undefined);
    this.store.close();
  }

  private conclude(claimed: Claimed, terms: ClaimTerms): Keyed | Problem {
    if (claimed.state === 'claimed') {
      this.open.set(terms, performance.now());
      METRICS.idempotentRequests.series('carried_out').inc();
      return new KeyClaim(terms, this);
    }
    this.free.note(terms.name.caller);
    switch (claimed.state) {
      case 'under_way':
        return count('in_progress', inProgress());
      case 'unknown':
        return count('outcome_unknown', OUTCOME_UNKNOWN);
      case 'mismatch':
        return count('mismatch', MISMATCH);
      case 'done':
        if (!claimed.isKept) return count('not_stored', notStored(claimed.status));
        return new Replay(claimed.bodyHash, () => this.read(terms.name));
    }
  }

  /** What is stored of an outcome: no response where it would fill a store that others need. */
  private asRoomAllows({ accountId }: ClaimTerms, outcome: Outcome): Outcome {
    if (outcome.kind === 'unknown' || outcome.response === undefined) return outcome;
    const { lines, body } = outcome.response;
    const isRoom = this.store.room === 'plenty' && this.budget.takes(accountId, lines.length + body.length);
    return isRoom ? outcome : { ...outcome, response: undefined };
  }

  private async read(name: RecordName): Promise<KeptResponse | undefined> {
    try {
      return await within(CLAIM_TIMEOUT_MS, this.store.read(name));
    } catch (error) {
      this.noteFailure(error);
      throw count('unavailable', unavailable(this.breaker.waitMs, error));
    }
  }

  /** Tells the store what came of a claim; later where it cannot be told now. */
  private tell(terms: ClaimTerms, outcome: Outcome | undefined, done?: (isStored: boolean) => void): void {
    this.open.delete(terms);
    const telling = this.tellNow(terms, outcome, once(done)).finally(() => this.telling.delete(telling));
    this.telling.add(telling);
  }

  private async tellNow(
    terms: ClaimTerms,
    outcome: Outcome | undefined,
    done: (isStored: boolean) => void,
  ): Promise<void> {
    const late = setTimeout(() => done(false), RESPONSE_TIMEOUT_MS);
    let isStored = false;
    try {
      if (outcome === undefined) await within(CLAIM_TIMEOUT_MS, this.store.release(terms));
      else isStored = await within(CLAIM_TIMEOUT_MS, this.store.end(terms, outcome));
    } catch (error) {
      this.noteFailure(error);
      if (!this.unsaid.add(terms, outcome))
        this.log.error({ event: 'idempotency_outcome_lost' }, 'The outcome of a request is not written down');
    } finally {
      clearTimeout(late);
    }
    if (outcome !== undefined) METRICS.idempotentOutcomes.series(nameOf(outcome, isStored)).inc();
    done(isStored && outcome?.kind === 'done' && outcome.response !== undefined);
  }

  /** Says of the requests that have been under way for long that their process lives. */
  private async extend(): Promise<void> {
    const dueMs = performance.now() - EXTENSION_INTERVAL_MS / 2;
    const due: ClaimTerms[] = [];
    for (const [terms, claimedMs] of this.open) if (claimedMs <= dueMs) due.push(terms);
    if (due.length === 0) return;
    try {
      await this.store.extend(due);
    } catch (error) {
      this.noteFailure(error);
    }
  }

  private noteFailure(cause: unknown): void {
    if (!this.breaker.failed()) return;
    this.log.warn(
      { event: 'idempotency_store_lost', err: cause },
      'Idempotency keys cannot be looked up: requests that have one are refused',
    );
  }
}

function count(outcome: Parameters<typeof METRICS.idempotentRequests.series>[0], problem: Problem): Problem {
  METRICS.idempotentRequests.series(outcome).inc();
  return problem;
}

function nameOf(outcome: Outcome, isStored: boolean): 'stored' | 'not_stored' | 'unknown' {
  if (outcome.kind === 'unknown') return 'unknown';
  return isStored && outcome.response !== undefined ? 'stored' : 'not_stored';
}

function once(told: ((isStored: boolean) => void) | undefined): (isStored: boolean) => void {
  let isTold = told === undefined;
  return (isStored) => {
    if (isTold) return;
    isTold = true;
    told?.(isStored);
  };
}

/** Rejects where a value does not come in time; what it is of may go on. */
async function within<Value>(timeoutMs: number, value: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
