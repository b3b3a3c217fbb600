/**
 * Creates the 429 errors of refused requests. An error says which limit refused the request, how much of the limit is
 * used, and when to retry.
 */
import { Problem } from '../../platform/problems/errors.js';
import { DO_NOT_RETRY, LONGEST_WAIT_MS } from '../../platform/problems/retry-after.js';
import { formatWithOffset } from '../../platform/rfc3339.js';
import { retryAfterSeconds } from './headers.js';
import type { DayPeriod, MonthPeriod } from './month-period.js';
import { CALENDAR_BITS, MONTH_BITS, WINDOWS } from '../../platform/quotas/windows.js';
import { policyNames, type QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** Formatted ends of months and days in their account's time zone. Cached, because time zone conversion is slow. */
const ends = new WeakMap<MonthPeriod | DayPeriod, string>();

/**
 * Returns the 429 error of a refusal. The code is `quota_exceeded` if a month or a day is used up. The code is
 * `rate_limited` for a full minute, and for a used-up share of this node.
 */
export function quotaProblem(subject: QuotaSubject, decision: QuotaDecision): Problem {
  const isUsedUp = (decision.violated & CALENDAR_BITS) !== 0;
  return isUsedUp && decision.ofShare !== true ? usedUpProblem(subject, decision) : minuteProblem(subject, decision);
}

/**
 * Returns the error for a used-up month or day. HTTP libraries must not wait silently until the period ends. So the
 * error has `Retry-After` only in the last hour of the period, and `X-Should-Retry` is always `false`. The body says
 * when the period ends.
 */
function usedUpProblem(subject: QuotaSubject, decision: QuotaDecision): Problem {
  const seconds = retryAfterSeconds(decision);
  const isNear = seconds * 1_000 <= LONGEST_WAIT_MS && !neverFits(subject, decision);
  return new Problem('quota_exceeded', {
    detail: detailOf(subject, decision, seconds),
    // Plain text, because it contains only IDs, numbers and times that the gateway generates.
    isPlain: true,
    violatedPolicies: policyNames(decision.violated),
    headers: isNear ? ['Retry-After', String(seconds), ...DO_NOT_RETRY] : DO_NOT_RETRY,
    ...(isNear ? { retryAfter: seconds } : {}),
    resetsAt: endOf(periodOf(decision), subject.calendar.timeZone),
  });
}

/** Returns the error for a full minute window, and for a used-up share of this node. */
function minuteProblem(subject: QuotaSubject, decision: QuotaDecision): Problem {
  const retryAfter = retryAfterSeconds(decision);
  const detail = detailOf(subject, decision, retryAfter);
  const violatedPolicies = policyNames(decision.violated);
  if (neverFits(subject, decision)) {
    return new Problem('rate_limited', { detail, isPlain: true, violatedPolicies, headers: DO_NOT_RETRY });
  }
  const headers = ['Retry-After', String(retryAfter), 'X-Should-Retry', 'true'];
  return new Problem('rate_limited', { detail, isPlain: true, violatedPolicies, headers, retryAfter });
}

/** Reports whether a request costs more than the limit that refuses it. If so, no later attempt can succeed. */
function neverFits({ limits }: QuotaSubject, { violated, cost, ofShare }: QuotaDecision): boolean {
  return ofShare !== true && cost > limits[namedWindow(violated)]!;
}

function detailOf(subject: QuotaSubject, decision: QuotaDecision, seconds: number): string {
  const index = namedWindow(decision.violated);
  const { of, kind, period } = WINDOWS[index]!;
  const who = of === 'key' ? `Key ${subject.keyId}` : `Account ${subject.accountId}`;
  if (decision.ofShare === true) {
    const share = `the share of this gateway of what ${who} has left is used up`;
    return `Gateways count separately at the moment, and ${share}. Try again in ${seconds} seconds.`;
  }
  const limit = subject.limits[index]!;
  if (decision.cost > limit) {
    const most = `${grouped(limit)} requests in a ${period}`;
    return `${who} is limited to ${most}, and this request costs ${grouped(decision.cost)}. It can never succeed.`;
  }
  const count = `${grouped(Math.min(decision.used[index]!, limit))} of ${grouped(limit)} requests`;
  return kind === 'calendar'
    ? `${who} has used ${count} ${period === 'day' ? 'today' : `this ${period}`}. It resets at ${endOf(periodOf(decision), subject.calendar.timeZone)}.`
    : `${who} has used ${count} in the last ${period}. Try again in ${seconds} seconds.`;
}

/**
 * Returns the index of the window that the message names. It is the first calendar window that refused, or else the
 * first sliding window. The windows have the order of the response fields.
 */
function namedWindow(violated: number): number {
  const ofCalendar = violated & CALENDAR_BITS;
  const bits = ofCalendar === 0 ? violated : ofCalendar;
  return Math.max(
    0,
    WINDOWS.findIndex((_, index) => (bits & (1 << index)) !== 0),
  );
}

/** Formats a count with separators (`1,234,567`). `Intl` would take longer than the rest of a refusal. */
function grouped(count: number): string {
  const digits = String(count);
  let end = digits.length % 3 || 3;
  let text = digits.slice(0, end);
  for (; end < digits.length; end += 3) text += `,${digits.slice(end, end + 3)}`;
  return text;
}

/**
 * Returns the period that is used up. If both the month and the day are used up, returns the month, which ends later.
 */
function periodOf({ violated, period }: QuotaDecision): MonthPeriod | DayPeriod {
  return (violated & MONTH_BITS) === 0 ? period.day : period;
}

/**
 * Returns the formatted end of a period.
 * @param period a period in `timeZone`.
 */
function endOf(period: MonthPeriod | DayPeriod, timeZone: string): string {
  let text = ends.get(period);
  if (text === undefined) ends.set(period, (text = formatWithOffset(period.endMs, timeZone)));
  return text;
}
