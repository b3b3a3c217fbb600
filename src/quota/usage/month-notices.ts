/**
 * Creates notices when usage reaches 80 and 100 percent of a month limit, each once per period. The flush checks for
 * notices when it writes counts. The request path never checks. The flush checks whether a threshold is reached, not
 * whether it was just crossed. So if a notice was lost, or is due because a limit was lowered, the next write creates
 * it.
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

/** Percentages of a month limit at which notices are due. */
export const THRESHOLDS = [80, 100] as const;

type ThresholdEvent = NewEvent<'quota.threshold_reached'>;

/** MonthNotice is a notice that may be due. The database knows whether the notice already exists. */
export interface MonthNotice {
  readonly subject: QuotaSubject;
  readonly period: MonthPeriod;
  /** Bit of the notice in `ReachedLimits.noticed`. */
  readonly bit: number;
  readonly event: ThresholdEvent;
}

/**
 * Returns the thresholds that the usage has reached. Returns none if there is no limit, or if the limit is 0, which
 * blocks a key.
 */
export function thresholdsReached(limit: number, used: number): (typeof THRESHOLDS)[number][] {
  if (limit === Infinity || limit <= 0) return [];
  // Compare whole numbers, because 80 percent of a limit is rarely a whole number.
  return THRESHOLDS.filter((percent) => used * 100 >= limit * percent);
}

/**
 * Returns the notices that may be due for these counts. Omits the notices that this process knows to exist. Ignores
 * counts of other periods.
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

/**
 * Reports whether any notice can be due. The flush calls this function for every changed key, so it allocates nothing.
 */
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
  const known = subject.reached?.noticedMonth === period.label ? subject.reached.noticed : 0;
  return thresholdsReached(limit, count.used).flatMap((percent) => {
    const bit = 1 << (firstBit + THRESHOLDS.indexOf(percent));
    if ((known & bit) !== 0) return [];
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

/**
 * MonthNotices writes notices in the transaction of their counts. Across all processes, each notice is reported once in
 * log and metrics.
 */
export class MonthNotices {
  constructor(
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** Adds the notices that do not exist yet. Rejects if the database does. In this case, all notices remain due. */
  async write(db: Kysely<Tables>, due: readonly MonthNotice[]): Promise<AddedEvents> {
    if (due.length === 0) return NOTHING_ADDED;
    // Several keys of an account can cause the same notice. The highest count is the latest.
    const events = new Map<string, ThresholdEvent>();
    for (const { event } of due) {
      if (event.data.used >= (events.get(event.dedupeKey)?.data.used ?? 0)) events.set(event.dedupeKey, event);
    }
    return addEvents(db, [...events.values()], this.clock.now());
  }

  /**
   * Records that notices exist, after their transaction was committed. Reports new notices in log and metrics.
   * @param added result of `write`.
   */
  recordWritten(due: readonly MonthNotice[], { events: added }: AddedEvents): void {
    countOwnEvents(added.size);
    const logged = new Set<string>();
    for (const { subject, period, bit, event } of due) {
      const reached = subject.reachedLimits();
      reached.noticed = (reached.noticedMonth === period.label ? reached.noticed : 0) | bit;
      reached.noticedMonth = period.label;
      if (!added.has(event.dedupeKey) || logged.has(event.dedupeKey)) continue;
      logged.add(event.dedupeKey);
      const { policy, threshold_percent: percent, api_key_id: keyId, limit, used } = event.data;
      METRICS.quotaNotices.series(policy, percent).inc();
      this.log.info(
        { event: 'quota_threshold_reached', account_id: event.accountId, key_id: keyId, policy, percent, limit, used },
        'A month limit is nearly or fully used',
      );
    }
  }
}
