/**
 * What is done while the shared counters are away, and how they come back: a breaker, what the plan says, a log of what was
 * admitted without them, and the hand-over to them when they answer again.
 */
import type { Clock } from '../platform/clock.js';
import { Problem } from '../problems/errors.js';
import type { Logger } from '../platform/log.js';
import { METRICS } from '../platform/metrics.js';
import { retryFields } from '../problems/retry-after.js';
import { nowOrTold, type Waiting } from '../platform/waiting.js';
import type { Breaker } from './breaker.js';
import type { CounterReading, LosableStore } from './model/counter-store.js';
import type { LocalShare } from './local-share.js';
import type { MonthLedger } from '../usage/month-ledger.js';
import type { MonthCalendar, MonthPeriod } from './model/month-period.js';
import { OutageLog, type OutageEntry } from './model/outage-log.js';
import type { QuotaCounts, QuotaDecision } from './model/policies.js';
import type { QuotaSubject } from './model/subject.js';

/** How much of a log is handed in side by side. */
const REPLAYS_AT_ONCE = 200;

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
    private readonly counters: LosableStore,
    private readonly breaker: Breaker,
    /** What this node counts on with while the counters are away. */
    private readonly local: LocalShare,
    private readonly ledger: MonthLedger,
    /** Whether the store answers at all; rejects where it does not. */
    private readonly ask: () => Promise<unknown>,
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {
    METRICS.quotaDegradedSeconds.collect = () => this.countDegradedTime();
    METRICS.quotaStoreLostTime.collect = () => METRICS.quotaStoreLostTime.series().set((this.sinceMs ?? 0) / 1_000);
  }

  /**
   * Asks the store; a lost one whether it is back, but no request waits for that: then as `decide`.
   * @returns the decision; undefined: `waiting` is told it.
   */
  decideFor(waiting: Waiting<QuotaDecision>, subject: QuotaSubject, cost: number): QuotaDecision | undefined {
    if (this.isOver) {
      this.counters.decideFor(waiting, subject, cost);
      return undefined;
    }
    void this.probe();
    return nowOrTold(this.decide(subject, cost), waiting);
  }

  /** What this node knows to be used, in the place of a reading of the store. Rejects where it knows nothing, see `LocalShare.read`. */
  read(
    accountId: string,
    keyId: string | undefined,
    calendar: MonthCalendar,
    subject?: QuotaSubject,
  ): Promise<CounterReading> {
    return this.local.read(accountId, keyId, calendar, subject);
  }

  /** When the store was lost, ms by this node's clock; undefined while it answers. */
  get sinceMs(): number | undefined {
    return this.breaker.openSinceMs;
  }

  /** Whether the counters answer. */
  get isOver(): boolean {
    return this.breaker.openSinceMs === undefined;
  }

  /**
   * Gives back without the store: while it is lost, and what was admitted here and has not been counted there yet. Answers with
   * what the month gets back; undefined where it must be given back there.
   */
  giveBack(subject: QuotaSubject, decision: QuotaDecision): number | undefined {
    const { source, cost, nowMs, period } = decision;
    if (this.isOver && (source !== 'local' || !this.outage.holds(subject, period))) return undefined;
    this.outage.note(subject, -cost, source === 'local' ? nowMs : nowMs - this.counters.aheadMs, period);
    if (source === 'local') this.local.giveBack(subject, decision);
    return subject.calendar.at(this.clock.now()).label === period.label ? cost : 0;
  }

  /** Asks a lost store whether it is back, as often as its breaker allows; counts there what is left over. Never rejects. */
  async probe(): Promise<void> {
    if (this.isOver && !this.outage.isEmpty) this.startRecovery();
    if (this.isOver || !this.breaker.allows()) return;
    await this.ask().then(
      () => this.startRecovery(),
      (error: unknown) => this.storeAnswered(false, error),
    );
  }

  /** Told by the counters of every call; `cause` says why one was not answered. */
  storeAnswered(answered: boolean, cause?: unknown): void {
    if (answered) return;
    this.storeErrors.inc();
    if (this.breaker.failed()) {
      this.local.clear();
      this.degradedCountedMs = this.clock.now();
      METRICS.quotaStoreUp.series('redis').set(0);
      const why = cause instanceof Error ? cause.message : undefined;
      this.log.error({ event: 'quota_store_lost', cause: why }, 'Redis does not count: plans decide by onRedisLoss');
    }
  }

  private startRecovery(): void {
    this.recovery ??= this.recover().finally(() => (this.recovery = undefined));
  }

  /**
   * The store answers again: what it may have counted without an answer is taken back, what was admitted without it is counted
   * there, while this node goes on by itself; then, in one step with nothing left to count, the store decides again. What the
   * database is needed for, and cannot be had, is tried again later and keeps nobody from the store. Never rejects.
   */
  private async recover(): Promise<void> {
    const failuresBefore = this.storeErrors.value;
    const isSure = await this.counters.takeBackUnanswered().catch(() => false);
    if (isSure) await this.replayAll(failuresBefore);
    if (this.storeErrors.value > failuresBefore || this.counters.isUnsure) {
      // The pause begins here also where no call failed.
      if (!this.isOver) this.breaker.failed();
      return;
    }
    if (!this.breaker.succeeded()) return;
    this.countDegradedTime();
    this.local.clear();
    METRICS.quotaStoreUp.series('redis').set(1);
    this.log.warn({ event: 'quota_store_back' }, 'Redis answers again: limits are shared by all nodes again');
  }

  private async replayAll(failuresBefore: number): Promise<void> {
    for (let entries = this.outage.take(); entries.length > 0; entries = this.outage.take()) {
      let waitsForDatabase = false;
      for (let at = 0; at < entries.length; at += REPLAYS_AT_ONCE) {
        const results = await Promise.allSettled(
          entries.slice(at, at + REPLAYS_AT_ONCE).map((entry) => this.replay(entry)),
        );
        if (this.storeErrors.value > failuresBefore) {
          for (const entry of entries.slice(at + REPLAYS_AT_ONCE)) this.outage.restore(entry);
          return;
        }
        waitsForDatabase ||= results.some(({ status }) => status === 'rejected');
      }
      if (waitsForDatabase) return;
    }
  }

  private async replay(entry: OutageEntry): Promise<void> {
    const { subject, period } = entry;
    try {
      const months = await this.counters.replay(entry);
      METRICS.quotaReplays.series('counted').inc();
      this.ledger.saw(subject, months, period);
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
          headers: retryFields(this.breaker.waitMs),
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
        return this.logged(subject, this.local.decide(subject, cost, period));
    }
  }

  /** What is admitted here is counted in the store when it is back; at once, where it came back while this was decided. */
  private logged(
    subject: QuotaSubject,
    decision: QuotaDecision | Promise<QuotaDecision>,
  ): QuotaDecision | Promise<QuotaDecision> {
    if (decision instanceof Promise) return decision.then((made) => this.logged(subject, made));
    if (decision.admitted) {
      this.outage.note(subject, decision.cost, decision.nowMs, decision.period);
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
