/**
 * The one place that decides quotas: asks the counters, and where they are away does what the plan says. It is also the
 * `ThrottlerStorage` of `@nestjs/throttler`, so that the admin application's stock guard counts in the same place.
 */
import type { ThrottlerStorage } from '@nestjs/throttler';
import type { Clock } from '../clock.js';
import { Problem } from '../errors.js';
import type { Logger } from '../log.js';
import { METRICS } from '../metrics.js';
import type { Breaker } from './breaker.js';
import type { CounterReading, CounterStore } from './counter-store.js';
import type { MonthLedger } from './month-ledger.js';
import type { MonthCalendar, MonthPeriod } from './month-period.js';
import { OutageLog, type OutageEntry } from './outage-log.js';
import type { QuotaCounts, QuotaDecision, QuotaSubject } from './policies.js';
import type { ProcessCounters } from './process-counters.js';
import type { Settling } from './gathering.js';
import type { ThrottleWindows } from './throttle-windows.js';

/** How long a refusal is repeated without asking the store again. */
const LONGEST_KNOWN_REFUSAL_MS = 10_000;

type ThrottlerRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

export class QuotaStorage implements ThrottlerStorage, Settling {
  private readonly degraded = {
    local: METRICS.quotaDegradedDecisions.series('local'),
    open: METRICS.quotaDegradedDecisions.series('open'),
    closed: METRICS.quotaDegradedDecisions.series('closed'),
  };

  private readonly outage = new OutageLog();
  private recovery: Promise<void> | undefined;
  private readonly storeErrors = METRICS.quotaStoreErrors.series();

  constructor(
    private readonly counters: CounterStore,
    /** Undefined where the counters are in this process and cannot be lost. */
    private readonly breaker: Breaker | undefined,
    /** What this node counts on with while the counters are away. */
    private readonly local: ProcessCounters,
    private readonly ledger: MonthLedger,
    private readonly throttles: ThrottleWindows,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    METRICS.quotaDegradedSeconds.collect = () => this.countDegradedTime();
  }

  /**
   * Judges a request by every window of its key and account.
   * @throws Problem `quota_unavailable` where the counters are away and the plan says closed.
   */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision> {
    // Counters that can be lost call `made` and `failed` themselves.
    if (this.breaker !== undefined) {
      const known = this.knownRefusal(subject, cost);
      if (known !== undefined) return known;
      return this.breaker.allows() ? this.counters.decide(subject, cost) : this.failed(subject, cost);
    }
    const decision = this.counters.decide(subject, cost);
    if (!(decision instanceof Promise)) return this.made(subject, decision);
    return decision.then(
      (made) => this.made(subject, made),
      (error: unknown) => this.failed(subject, cost, error),
    );
  }

  /** Gives the cost of an admitted decision back, in the background. */
  giveBack(subject: QuotaSubject, decision: QuotaDecision): void {
    if (!decision.admitted || decision.cost === 0 || decision.source === 'open') return;
    subject.refusal = undefined;
    // What was admitted in an outage is still in its log, or has been counted in the store since.
    const isLogged = decision.source === 'local' && this.outage.takeBack(subject, decision);
    (isLogged ? this.local : this.counters).giveBack(subject, decision).then(
      () => {
        METRICS.quotaGiveBacks.series('done').inc();
        this.ledger.note(subject, decision);
      },
      (error: unknown) => {
        METRICS.quotaGiveBacks.series('failed').inc();
        // At debug: in an outage of Redis there is one for every request that fails.
        this.log.debug({ event: 'give_back_failed', key_id: subject.keyId, err: error }, 'A cost was not given back');
      },
    );
  }

  /** Counts as they stand, for `/usage` and the admin API. Rejects while the counters are away. */
  read(accountId: string, keyId: string | undefined, calendar: MonthCalendar): Promise<CounterReading> {
    return this.counters.read(accountId, keyId, calendar);
  }

  /** Whether the counters answer. */
  get storeUp(): boolean {
    return this.breaker?.openSinceMs === undefined;
  }

  /** Asks a lost store whether it is back, as often as its breaker allows; counts there what is left over. Never rejects. */
  async probe(ask: () => Promise<unknown>): Promise<void> {
    if (this.storeUp && !this.outage.isEmpty) this.startRecovery();
    if (this.storeUp || this.breaker?.allows() !== true) return;
    await ask().then(
      () => this.storeAnswered(true),
      () => this.storeAnswered(false),
    );
  }

  /** Told by the counters of every call. */
  storeAnswered(answered: boolean): void {
    if (answered) {
      if (!this.storeUp) this.startRecovery();
      return;
    }
    this.storeErrors.inc();
    if (this.breaker?.failed() === true) {
      this.degradedCountedMs = this.clock.now();
      METRICS.quotaStoreUp.series('redis').set(0);
      this.log.error({ event: 'quota_store_lost' }, 'Redis does not answer: plans decide by onRedisLoss');
    }
  }

  private startRecovery(): void {
    this.recovery ??= this.recover().finally(() => (this.recovery = undefined));
  }

  /**
   * The store answers again: what was admitted without it is counted there first, while this node goes on by itself; then, in
   * one step with nothing left to count, the store decides again. What the database is needed for, and cannot be had, is tried
   * again later and keeps nobody from the store. Never rejects.
   */
  private async recover(): Promise<void> {
    const failuresBefore = this.storeErrors.value;
    for (let entries = this.outage.take(); entries.length > 0; entries = this.outage.take()) {
      const results = await Promise.allSettled(entries.map((entry) => this.replay(entry)));
      if (this.storeErrors.value > failuresBefore) return;
      if (results.some(({ status }) => status === 'rejected')) break;
    }
    if (this.breaker?.succeeded() !== true) return;
    this.countDegradedTime();
    this.local.clear();
    METRICS.quotaStoreUp.series('redis').set(1);
    this.log.warn({ event: 'quota_store_back' }, 'Redis answers again: limits are shared by all nodes again');
  }

  private async replay(entry: OutageEntry): Promise<void> {
    const { subject, period } = entry;
    try {
      const counted = await this.counters.replay?.(entry);
      METRICS.quotaReplays.series('counted').inc();
      if (counted === undefined) return;
      subject.lastSeen = { ...lastSeen(subject, period), ...counted };
      subject.lastSeenMonth = period.label;
      this.ledger.note(subject, { period });
    } catch (error) {
      METRICS.quotaReplays.series('failed').inc();
      this.outage.restore(entry);
      throw error;
    }
  }

  /** `ThrottlerStorage`: one window of any length; times in seconds. */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    _blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const window = await this.throttles.increment(throttlerName, key, ttl, limit);
    const waitSeconds = Math.max(1, Math.ceil(window.resetMs / 1_000));
    return {
      totalHits: window.admitted ? window.hits : limit + 1,
      timeToExpire: waitSeconds,
      isBlocked: !window.admitted,
      timeToBlockExpire: window.admitted ? 0 : waitSeconds,
    };
  }

  /** Notes a decision for the database, and for the time when the store is lost. */
  made(subject: QuotaSubject, decision: QuotaDecision): QuotaDecision {
    subject.lastSeen = decision.used;
    subject.lastSeenAtMs = decision.nowMs;
    subject.lastSeenMonth = decision.period.label;
    if (decision.admitted) {
      this.ledger.note(subject, decision);
    } else {
      subject.refusal = decision;
      subject.refusedAtMs = this.clock.now();
    }
    return decision;
  }

  /**
   * A window that is known to be used up refuses here, without asking, until it has room again: who keeps calling costs the store
   * nothing. A raised limit is another subject and is asked about at once; a cost that somebody gave back meanwhile is found
   * after `LONGEST_KNOWN_REFUSAL_MS`.
   */
  private knownRefusal(subject: QuotaSubject, cost: number): QuotaDecision | undefined {
    const { refusal } = subject;
    if (refusal === undefined) return undefined;
    const sinceMs = this.clock.now() - subject.refusedAtMs;
    const nowMs = refusal.nowMs + sinceMs;
    // Negative: the clock went back, and nothing is known.
    if (sinceMs < 0 || sinceMs >= LONGEST_KNOWN_REFUSAL_MS || nowMs >= refusal.retryAtMs) {
      subject.refusal = undefined;
      return undefined;
    }
    return cost < refusal.cost ? undefined : { ...refusal, nowMs, cost };
  }

  /** The counters are away: what the plan says, decided here and nowhere else. */
  failed(subject: QuotaSubject, cost: number, cause?: unknown): QuotaDecision | Promise<QuotaDecision> {
    if (this.breaker === undefined) throw new Problem('quota_unavailable', { cause });
    this.degraded[subject.onStoreLoss].inc();
    const nowMs = this.clock.now();
    const period = subject.calendar.at(nowMs);
    switch (subject.onStoreLoss) {
      case 'closed':
        throw new Problem('quota_unavailable', {
          detail: 'Usage limits cannot be checked at the moment. Nothing was counted; try again shortly.',
          headers: ['Retry-After', '1', 'X-Should-Retry', 'true'],
          cause,
        });
      case 'open':
        return {
          admitted: true,
          source: 'open',
          cost,
          nowMs,
          period,
          used: lastSeen(subject, period),
          keyMinuteResetMs: 0,
          accountMinuteResetMs: 0,
          violated: 0,
          retryAtMs: 0,
        };
      case 'local':
        return this.logged(subject, this.decideLocally(subject, cost, period));
    }
  }

  /** From what was last seen of the subject this month; where that is nothing, from the database; where that is away, from 0. */
  private decideLocally(
    subject: QuotaSubject,
    cost: number,
    period: MonthPeriod,
  ): QuotaDecision | Promise<QuotaDecision> {
    const goOnFromSeen = (): QuotaDecision | Promise<QuotaDecision> => {
      this.local.seedFrom(subject, lastSeen(subject, period), subject.lastSeenAtMs, period);
      return this.local.decide(subject, cost);
    };
    if (subject.lastSeenMonth === period.label) return goOnFromSeen();
    const decision = this.local.decide(subject, cost);
    return decision instanceof Promise ? decision.catch(goOnFromSeen) : decision;
  }

  /** What is admitted here is counted in the store when it is back; at once, where it came back while this was decided. */
  private logged(
    subject: QuotaSubject,
    decision: QuotaDecision | Promise<QuotaDecision>,
  ): QuotaDecision | Promise<QuotaDecision> {
    if (decision instanceof Promise) return decision.then((made) => this.logged(subject, made));
    if (decision.admitted) {
      this.outage.note(subject, decision);
      if (this.storeUp) this.startRecovery();
    }
    return decision;
  }

  private degradedCountedMs = 0;

  private countDegradedTime(): void {
    const since = this.breaker?.openSinceMs;
    const now = this.clock.now();
    if (since !== undefined || this.degradedCountedMs > 0) {
      METRICS.quotaDegradedSeconds
        .series()
        .inc(this.degradedCountedMs > 0 ? Math.max(0, now - this.degradedCountedMs) / 1_000 : 0);
    }
    this.degradedCountedMs = since === undefined ? 0 : now;
  }
}

/** The counts to go on from; a month that has ended meanwhile starts at nothing. */
function lastSeen(subject: QuotaSubject, period: MonthPeriod): QuotaCounts {
  const seen = subject.lastSeen ?? { keyMinute: 0, accountMinute: 0, accountMonth: 0, keyMonth: 0 };
  return subject.lastSeenMonth === period.label ? seen : { ...seen, accountMonth: 0, keyMonth: 0 };
}
