/**
 * What is done while the shared counters are away, and how they come back: a breaker, what the plan says, a log of what was
 * admitted without them, and the hand-over to them when they answer again.
 */
import type { Clock } from '../clock.js';
import { Problem } from '../errors.js';
import type { Logger } from '../log.js';
import { METRICS } from '../metrics.js';
import type { Breaker } from './breaker.js';
import type { CounterStore, GivenBack } from './counter-store.js';
import type { MonthLedger } from './month-ledger.js';
import type { MonthPeriod } from './month-period.js';
import { OutageLog, type OutageEntry } from './outage-log.js';
import type { QuotaCounts, QuotaDecision, QuotaSubject } from './policies.js';
import type { ProcessCounters } from './process-counters.js';

export class StoreLoss {
  private readonly degraded = {
    local: METRICS.quotaDegradedDecisions.series('local'),
    open: METRICS.quotaDegradedDecisions.series('open'),
    closed: METRICS.quotaDegradedDecisions.series('closed'),
  };

  private readonly outage = new OutageLog();
  private recovery: Promise<void> | undefined;
  private readonly storeErrors = METRICS.quotaStoreErrors.series();
  private degradedCountedMs = 0;

  constructor(
    private readonly counters: CounterStore,
    private readonly breaker: Breaker,
    /** What this node counts on with while the counters are away. */
    private readonly local: ProcessCounters,
    private readonly ledger: MonthLedger,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    METRICS.quotaDegradedSeconds.collect = () => this.countDegradedTime();
  }

  /** Whether a decision may ask the store now. */
  mayAsk(): boolean {
    return this.breaker.allows();
  }

  /** Whether the counters answer. */
  get isOver(): boolean {
    return this.breaker.openSinceMs === undefined;
  }

  /** Gives back what was admitted here and is still in the log. Undefined where it has been counted in the store since. */
  giveBack(subject: QuotaSubject, decision: QuotaDecision): Promise<GivenBack> | undefined {
    return this.outage.takeBack(subject, decision) ? this.local.giveBack(subject, decision) : undefined;
  }

  /** Asks a lost store whether it is back, as often as its breaker allows; counts there what is left over. Never rejects. */
  async probe(ask: () => Promise<unknown>): Promise<void> {
    if (this.isOver && !this.outage.isEmpty) this.startRecovery();
    if (this.isOver || !this.breaker.allows()) return;
    await ask().then(
      () => this.storeAnswered(true),
      () => this.storeAnswered(false),
    );
  }

  /** Told by the counters of every call. */
  storeAnswered(answered: boolean): void {
    if (answered) {
      if (!this.isOver) this.startRecovery();
      return;
    }
    this.storeErrors.inc();
    if (this.breaker.failed()) {
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
    if (!this.breaker.succeeded()) return;
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
      if (subject.lastSeenMonth !== period.label) this.ledger.monthEnded(subject);
      subject.lastSeen = { ...lastSeen(subject, period), ...counted };
      subject.lastSeenMonth = period.label;
      this.ledger.note(subject, { period });
    } catch (error) {
      METRICS.quotaReplays.series('failed').inc();
      this.outage.restore(entry);
      throw error;
    }
  }

  /**
   * What the plan says while the counters are away.
   * @throws Problem `quota_unavailable` where it says closed.
   */
  decide(subject: QuotaSubject, cost: number, cause?: unknown): QuotaDecision | Promise<QuotaDecision> {
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
      if (this.isOver) this.startRecovery();
    }
    return decision;
  }

  private countDegradedTime(): void {
    const since = this.breaker.openSinceMs;
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
