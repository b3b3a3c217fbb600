/**
 * Notices that a month's limit is nearly, or wholly, used up: at 80 and at 100 percent, each once a period. Looked for
 * where counts are written to the database, never on the request path. What is asked is whether a threshold *is*
 * reached, not whether it has just been passed: so a notice that was lost on the way, or that a lowered limit makes
 * due, comes with the next write.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '../../platform/clock.js';
import type { Tables } from '../../stores/database/schema.js';
import type { NewEvent } from '../../outbox/event-types.js';
import { addEvents, countOwnEvents, NOTHING_ADDED, type AddedEvents } from '../../outbox/outbox.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import type { MonthCount } from '../model/counter-store.js';
import type { MonthPeriod } from '../model/month-period.js';
import { ACCOUNT_MONTH, KEY_MONTH } from '../../platform/quotas/windows.js';
import type { QuotaSubject } from '../model/subject.js';

/** Percent of a month's limit. */
export const THRESHOLDS = [80, 100] as const;

type ThresholdEvent = NewEvent<'quota.threshold_reached'>;

/** A notice that may be due: the database knows whether it has been given. */
export interface MonthNotice {
  readonly subject: QuotaSubject;
  readonly period: MonthPeriod;
  /** Its bit in `ReachedLimits.noticed`. */
  readonly bit: number;
  readonly event: ThresholdEvent;
}

/** The thresholds that are reached; none of a limit that is not there, or of 0, which forbids rather than limits. */
export function thresholdsReached(limit: number, used: number): (typeof THRESHOLDS)[number][] {
  if (limit === Infinity || limit <= 0) return [];
  // In whole numbers: 0.8 of a limit is seldom one.
  return THRESHOLDS.filter((percent) => used * 100 >= limit * percent);
}

/**
 * What may be due for these counts, without what this process knows to be given. Counts of another period are left
 * alone.
 */
export function noticesDue(
  subject: QuotaSubject,
  period: MonthPeriod,
  counts: { readonly account: MonthCount; readonly key: MonthCount },
): readonly MonthNotice[] {
  const { limits } = subject;
  if (!isNear(limits[ACCOUNT_MONTH], counts.account) && !isNear(limits[KEY_MONTH], counts.key)) return NONE;
  return [
    ...policyNotices(subject, period, 'account-month', limits[ACCOUNT_MONTH], counts.account, 0),
    ...policyNotices(subject, period, 'key-month', limits[KEY_MONTH], counts.key, THRESHOLDS.length),
  ];
}

const NONE: readonly MonthNotice[] = [];

/** Whether anything can be due. Asked of every key that was in use, so before anything is made for it. */
function isNear(limit: number, { used }: MonthCount): boolean {
  return used * 100 >= limit * THRESHOLDS[0];
}

function policyNotices(
  subject: QuotaSubject,
  period: MonthPeriod,
  policy: ThresholdEvent['data']['policy'],
  limit: number,
  count: MonthCount,
  firstBit: number,
): MonthNotice[] {
  if (count.month !== period.label) return [];
  const given = subject.reached?.noticedMonth === period.label ? subject.reached.noticed : 0;
  return thresholdsReached(limit, count.used).flatMap((percent) => {
    const bit = 1 << (firstBit + THRESHOLDS.indexOf(percent));
    if ((given & bit) !== 0) return [];
    const keyId = policy === 'key-month' ? subject.keyId : null;
    const event = thresholdEvent(subject, period, { policy, keyId, percent, limit, used: count.used });
    return [{ subject, period, bit, event }];
  });
}

function thresholdEvent(
  { accountId, calendar }: QuotaSubject,
  period: MonthPeriod,
  reached: {
    readonly policy: ThresholdEvent['data']['policy'];
    readonly keyId: string | null;
    readonly percent: (typeof THRESHOLDS)[number];
    readonly limit: number;
    readonly used: number;
  },
): ThresholdEvent {
  const { policy, keyId, percent, limit, used } = reached;
  const end = formatWithOffset(period.endMs, calendar.timeZone);
  return {
    type: 'quota.threshold_reached',
    accountId,
    data: {
      account_id: accountId,
      api_key_id: keyId,
      policy,
      threshold_percent: percent,
      limit,
      used,
      period_start: formatWithOffset(period.startMs, calendar.timeZone),
      period_end: end,
      resets_at: end,
    },
    dedupeKey: `quota.threshold_reached/${accountId}/${keyId ?? ''}/${policy}/${period.label}/${percent}`,
  };
}

/** Writes notices beside the counts that make them due, and says so in log and metric, once over all processes. */
export class MonthNotices {
  constructor(
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /**
   * Adds those that nobody has given yet. Rejects as the database does; then nothing is remembered, and all are due
   * again.
   */
  async write(db: Kysely<Tables>, due: readonly MonthNotice[]): Promise<AddedEvents> {
    if (due.length === 0) return NOTHING_ADDED;
    // Keys of one account find the same notice; the greatest count is the latest.
    const events = new Map<string, ThresholdEvent>();
    for (const { event } of due) {
      if (event.data.used >= (events.get(event.dedupeKey)?.data.used ?? 0)) events.set(event.dedupeKey, event);
    }
    return addEvents(db, [...events.values()], this.clock.now());
  }

  /** Call it when they stand in the database for good. @param added what `write` resolved to. */
  written(due: readonly MonthNotice[], { events: added }: AddedEvents): void {
    countOwnEvents(added.size);
    const told = new Set<string>();
    for (const { subject, period, bit, event } of due) {
      const reached = subject.reachedLimits();
      reached.noticed = (reached.noticedMonth === period.label ? reached.noticed : 0) | bit;
      reached.noticedMonth = period.label;
      if (!added.has(event.dedupeKey) || told.has(event.dedupeKey)) continue;
      told.add(event.dedupeKey);
      const { policy, threshold_percent: percent, api_key_id: keyId, limit, used } = event.data;
      METRICS.quotaNotices.series(policy, percent).inc();
      this.log.info(
        { event: 'quota_threshold_reached', account_id: event.accountId, key_id: keyId, policy, percent, limit, used },
        'A month is nearly or wholly used up',
      );
    }
  }
}
