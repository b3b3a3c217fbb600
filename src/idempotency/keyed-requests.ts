/**
 * Handles the requests with an `Idempotency-Key` in this process. Claims the record of each request before the gateway
 * forwards the request. Extends the lease of the claim while the request is in progress. Writes the outcome before the
 * client receives the last byte of the response.
 *
 * If the store is unavailable, requests with a key are refused, because their clients asked for at most one execution.
 * Requests without a key are not affected.
 */
import { randomBytes } from 'node:crypto';
import { Breaker } from '../platform/breaker.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import type { ReadsGauges } from '../platform/collect-metrics.js';
import { FreeRequestThrottle } from './free-request-throttle.js';
import { KeyClaim, Replay, type ClaimOwner, type Keyed } from './key-claim.js';
import type { ClaimTerms, Claimed, StoredResponse, Outcome, RecordName, RecordStore } from './record.js';
import {
  inProgress,
  MISMATCH,
  notStored,
  OUTCOME_UNKNOWN,
  tooManyRetries,
  idempotencyUnavailable,
} from './refusals.js';
import { StorageBudget } from './storage-budget.js';
import type { Problem } from '../platform/problems/errors.js';
import { PendingOutcomes } from './pending-outcomes.js';

/**
 * Time in ms without an extension after which the outcome of a request counts as unknown. `KeyedRequests` extends
 * leases three times as often.
 */
export const LEASE_MS = 15_000;
const EXTENSION_INTERVAL_MS = LEASE_MS / 3;
/** Maximum wait for one operation of the store. A database statement can take 2 s, a call to Redis 250 ms. */
const CLAIM_TIMEOUT_MS = 2_500;
/** Maximum time for which a response is held back while the store writes the outcome. */
const RESPONSE_TIMEOUT_MS = 500;
/** Maximum number of open claims in this process. Further requests with an `Idempotency-Key` are refused. */
const MAX_CLAIMS = 20_000;
const OWNER_BYTES = 12;

/** KeyedRequests claims records, extends their leases and writes the outcomes of their requests. */
export class KeyedRequests implements ClaimOwner, ReadsGauges {
  /** Time at which each open claim was made, in ms of `performance.now()`. */
  private readonly openClaims = new Map<ClaimTerms, number>();
  private readonly writes = new Set<Promise<void>>();
  private readonly pending: PendingOutcomes;
  private readonly freeRequests: FreeRequestThrottle;
  private readonly budget: StorageBudget;
  private readonly breaker: Breaker;
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly store: RecordStore,
    clock: Clock,
    private readonly log: Logger,
  ) {
    this.pending = new PendingOutcomes(store);
    this.freeRequests = new FreeRequestThrottle(clock);
    this.budget = new StorageBudget(clock);
    this.breaker = new Breaker(clock);
    this.timer = setInterval(() => void this.extend(), EXTENSION_INTERVAL_MS).unref();
  }

  /**
   * Claims the record of a request. Never rejects.
   * @param retentionMs how long the record is kept, in ms.
   * @returns the claim, the replay of an earlier request with the same key, or the problem to send.
   */
  async claim(accountId: string, name: RecordName, fingerprint: string, retentionMs: number): Promise<Keyed | Problem> {
    const waitMs = this.freeRequests.waitMs(name.caller);
    if (waitMs > 0) return count('throttled', tooManyRetries(waitMs));
    const { breaker } = this;
    const isFull = this.openClaims.size >= MAX_CLAIMS || this.store.room === 'none';
    if (isFull || !breaker.allowsCall()) return count('unavailable', idempotencyUnavailable(breaker.waitMs));
    const owner = randomBytes(OWNER_BYTES).toString('base64url');
    const terms: ClaimTerms = { name, accountId, fingerprint, owner, leaseMs: LEASE_MS, retentionMs };
    try {
      const claimed = await within(CLAIM_TIMEOUT_MS, this.store.claim(terms));
      if (breaker.recordSuccess())
        this.log.info({ event: 'idempotency_store_back' }, 'Idempotency keys are looked up again');
      return this.resultOf(claimed, terms);
    } catch (error) {
      this.recordFailure(error);
      // The store may have made the claim, or may still make it later.
      this.pending.addDoubtful(terms);
      return count('unavailable', idempotencyUnavailable(breaker.waitMs, error));
    }
  }

  released(terms: ClaimTerms): void {
    METRICS.idempotentOutcomes.series('released').inc();
    this.freeRequests.add(terms.name.caller);
    this.write(terms, undefined);
  }

  ended(terms: ClaimTerms, outcome: Outcome, done?: (isStored: boolean) => void): void {
    this.write(terms, this.dropUnstorable(terms, outcome), done);
  }

  readGauges(): void {
    METRICS.idempotencyClaims.series().set(this.openClaims.size);
    METRICS.idempotencyUnsaid.series().set(this.pending.length);
  }

  /** Waits for pending writes, tries once more to write failed outcomes, and closes the store. Never rejects. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.writes);
    await within(CLAIM_TIMEOUT_MS, this.pending.stop()).catch(() => undefined);
    this.store.close();
  }

  private resultOf(claimed: Claimed, terms: ClaimTerms): Keyed | Problem {
    if (claimed.state === 'claimed') {
      this.openClaims.set(terms, performance.now());
      METRICS.idempotentRequests.series('carried_out').inc();
      return new KeyClaim(terms, this);
    }
    this.freeRequests.add(terms.name.caller);
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

  /**
   * Removes the response from an outcome if the store is short of space, or if the account has used up its hourly
   * budget.
   */
  private dropUnstorable({ accountId }: ClaimTerms, outcome: Outcome): Outcome {
    if (outcome.kind === 'unknown' || outcome.response === undefined) return outcome;
    const { lines, body } = outcome.response;
    const fits = this.store.room === 'plenty' && this.budget.spendBytes(accountId, lines.length + body.length);
    return fits ? outcome : { ...outcome, response: undefined };
  }

  private async read(name: RecordName): Promise<StoredResponse | undefined> {
    try {
      return await within(CLAIM_TIMEOUT_MS, this.store.read(name));
    } catch (error) {
      this.recordFailure(error);
      throw count('unavailable', idempotencyUnavailable(this.breaker.waitMs, error));
    }
  }

  /**
   * Writes an outcome, or releases the claim if `outcome` is undefined. `PendingOutcomes` retries a failed write
   * without the response.
   */
  private write(terms: ClaimTerms, outcome: Outcome | undefined, done?: (isStored: boolean) => void): void {
    this.openClaims.delete(terms);
    const write = this.writeNow(terms, outcome, once(done)).finally(() => this.writes.delete(write));
    this.writes.add(write);
  }

  private async writeNow(
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
      this.recordFailure(error);
      if (!this.pending.add(terms, outcome))
        this.log.error({ event: 'idempotency_outcome_lost' }, 'The outcome of a request is not written down');
    } finally {
      clearTimeout(late);
    }
    if (outcome !== undefined) METRICS.idempotentOutcomes.series(metricNameOf(outcome, isStored)).inc();
    done(isStored && outcome?.kind === 'done' && outcome.response !== undefined);
  }

  /** Extends the leases of claims that are at least half an interval old. A failure of the store is only recorded. */
  private async extend(): Promise<void> {
    const dueMs = performance.now() - EXTENSION_INTERVAL_MS / 2;
    const due: ClaimTerms[] = [];
    for (const [terms, claimedMs] of this.openClaims) if (claimedMs <= dueMs) due.push(terms);
    if (due.length === 0) return;
    try {
      await this.store.extend(due);
    } catch (error) {
      this.recordFailure(error);
    }
  }

  /** Records a failure of the store. Logs the failure only if it opens the circuit breaker. */
  private recordFailure(cause: unknown): void {
    if (!this.breaker.recordFailure()) return;
    this.log.warn(
      { event: 'idempotency_store_lost', err: cause },
      'The idempotency store is unavailable: requests with an Idempotency-Key are refused',
    );
  }
}

/** Counts a refused request in the metrics. Returns the problem. */
function count(outcome: Parameters<typeof METRICS.idempotentRequests.series>[0], problem: Problem): Problem {
  METRICS.idempotentRequests.series(outcome).inc();
  return problem;
}

function metricNameOf(outcome: Outcome, isStored: boolean): 'stored' | 'not_stored' | 'unknown' {
  if (outcome.kind === 'unknown') return 'unknown';
  return isStored && outcome.response !== undefined ? 'stored' : 'not_stored';
}

/** Wraps a callback so that only its first call takes effect. An undefined callback gives a function without effect. */
function once(callback: ((isStored: boolean) => void) | undefined): (isStored: boolean) => void {
  let isCalled = callback === undefined;
  return (isStored) => {
    if (isCalled) return;
    isCalled = true;
    callback?.(isStored);
  };
}

/**
 * Returns the result of the promise. Rejects if the promise does not settle in time, without canceling the operation.
 */
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
