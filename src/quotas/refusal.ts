/** The words of a refused request: which limit, how much of it is used, when to come back. */
import { Problem } from '../errors.js';
import { formatWithOffset } from '../rfc3339.js';
import { retryAfterSeconds } from './headers.js';
import type { MonthPeriod } from './month-period.js';
import { ACCOUNT_MONTH, KEY_MINUTE, KEY_MONTH, policyNames, type QuotaCounts, type QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** When a month ends, in its account's zone: worked out once, because zones are slow to ask. */
const ends = new WeakMap<MonthPeriod, string>();

/** The 429 for a decision that does not admit: `quota_exceeded` when a month is used up, else `rate_limited`. */
export function quotaProblem(subject: QuotaSubject, decision: QuotaDecision): Problem {
  const monthUsedUp = (decision.violated & (ACCOUNT_MONTH | KEY_MONTH)) !== 0;
  const code = monthUsedUp && decision.ofShare !== true ? 'quota_exceeded' : 'rate_limited';
  const retryAfter = retryAfterSeconds(decision);
  const seconds = String(retryAfter);
  return new Problem(code, {
    detail: wordsOf(subject, decision, seconds),
    // Ids, numbers and times of our own making.
    isPlain: true,
    violatedPolicies: policyNames(decision.violated),
    headers: ['Retry-After', seconds, 'X-Should-Retry', code === 'quota_exceeded' ? 'false' : 'true'],
    retryAfter,
  });
}

function wordsOf(subject: QuotaSubject, decision: QuotaDecision, seconds: string): string {
  const window = namedWindow(decision.violated);
  const who = window.startsWith('key') ? `Key ${subject.keyId}` : `Account ${subject.accountId}`;
  if (decision.ofShare === true) {
    return `Each gateway counts by itself at the moment, and this one's share of what is left to ${who} is used up. Try again in ${seconds} seconds.`;
  }
  const limit = subject.limits[window];
  const count = `${grouped(Math.min(decision.used[window], limit))} of ${grouped(limit)} requests`;
  return window === 'accountMonth' || window === 'keyMonth'
    ? `${who} has used ${count} this month. It resets at ${endOf(decision.period, subject.calendar.timeZone)}.`
    : `${who} has used ${count} in the last minute. Try again in ${seconds} seconds.`;
}

/** Of the windows that refuse, the one to speak of: a month before a minute, the first in the order of the headers. */
function namedWindow(violated: number): keyof QuotaCounts {
  if ((violated & ACCOUNT_MONTH) !== 0) return 'accountMonth';
  if ((violated & KEY_MONTH) !== 0) return 'keyMonth';
  return (violated & KEY_MINUTE) === 0 ? 'accountMinute' : 'keyMinute';
}

/** A count as English writes it, `1,234,567`; `Intl` takes longer for it than all the rest of a refusal. */
function grouped(count: number): string {
  const digits = String(count);
  let end = digits.length % 3 || 3;
  let text = digits.slice(0, end);
  for (; end < digits.length; end += 3) text += `,${digits.slice(end, end + 3)}`;
  return text;
}

/** @param period of a calendar in that zone. */
function endOf(period: MonthPeriod, timeZone: string): string {
  let text = ends.get(period);
  if (text === undefined) ends.set(period, (text = formatWithOffset(period.endMs, timeZone)));
  return text;
}
