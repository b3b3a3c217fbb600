/** The words of a refused request: which limit, how much of it is used, when to come back. */
import { Problem } from '../errors.js';
import { formatWithOffset } from '../rfc3339.js';
import { limitedWindows, retryAfterSeconds } from './headers.js';
import type { MonthPeriod } from './month-period.js';
import { ACCOUNT_MONTH, KEY_MONTH, policyNames, type QuotaDecision, type QuotaSubject } from './policies.js';

const COUNT = new Intl.NumberFormat('en-US');
/** When a month ends, in its account's zone: worked out once, because zones are slow to ask. */
const ends = new WeakMap<MonthPeriod, string>();

/** The 429 for a decision that does not admit: `quota_exceeded` when a month is used up, else `rate_limited`. */
export function quotaProblem(subject: QuotaSubject, decision: QuotaDecision): Problem {
  const violated = policyNames(decision.violated);
  const monthUsedUp = (decision.violated & (ACCOUNT_MONTH | KEY_MONTH)) !== 0;
  const retryAfter = retryAfterSeconds(decision);
  const window = limitedWindows(subject.limits, decision.used).find(
    ({ policy, window: kind }) => violated.some((name) => name === policy) && (kind === 'month') === monthUsedUp,
  );
  const who = window?.of === 'key' ? `Key ${subject.keyId}` : `Account ${subject.accountId}`;
  const span = monthUsedUp ? 'this month' : 'in the last minute';
  const wait = monthUsedUp
    ? `It resets at ${endOf(decision.period, subject.calendar.timeZone)}.`
    : `Try again in ${retryAfter} seconds.`;
  if (decision.ofShare === true) {
    return new Problem('rate_limited', {
      detail: `Each gateway counts by itself at the moment, and this one's share of what is left to ${who} is used up. Try again in ${retryAfter} seconds.`,
      violatedPolicies: violated,
      headers: ['Retry-After', String(retryAfter), 'X-Should-Retry', 'true'],
      extensions: { retry_after: retryAfter },
    });
  }
  const used = Math.min(window?.used ?? 0, window?.limit ?? 0);
  return new Problem(monthUsedUp ? 'quota_exceeded' : 'rate_limited', {
    detail: `${who} has used ${grouped(used)} of ${grouped(window?.limit ?? 0)} requests ${span}. ${wait}`,
    violatedPolicies: violated,
    headers: ['Retry-After', String(retryAfter), 'X-Should-Retry', monthUsedUp ? 'false' : 'true'],
    extensions: { retry_after: retryAfter },
  });
}

function grouped(count: number): string {
  return count < 1_000 ? String(count) : COUNT.format(count);
}

/** @param period of a calendar in that zone. */
function endOf(period: MonthPeriod, timeZone: string): string {
  let text = ends.get(period);
  if (text === undefined) ends.set(period, (text = formatWithOffset(period.endMs, timeZone)));
  return text;
}
