/**
 * The fields that tell an integrator what is left: `RateLimit-Policy` and `RateLimit` in the syntax of
 * draft-ietf-httpapi-ratelimit-headers-11 (structured fields, RFC 9651), the `X-RateLimit-*` family for the tightest
 * window, `Retry-After` (RFC 9110 section 10.2.3). The draft may still change its wire format: only this file writes
 * it.
 */
import { fieldsOfLines, fieldValue, linesOf } from '../../http/grammar/fields.js';
import { LONGEST_WAIT_MS, spread } from '../../platform/problems/retry-after.js';
import type { MonthPeriod } from './month-period.js';
import { MINUTE_SECONDS } from '../../platform/sliding-window.js';
import { type QuotaCounts, type QuotaDecision, type QuotaLimits } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** Names of the fields written here, lower case: a backend's own fields of these names are dropped. */
export const QUOTA_FIELDS: readonly string[] = [
  'ratelimit',
  'ratelimit-policy',
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-should-retry',
];

const MONTH_JITTER_SECONDS = 60;
const MINUTE_JITTER_SECONDS = 3;

/** The rate-limit fields of a decision as lines, each with its CRLF. None where nobody counted. */
export function quotaLines(subject: QuotaSubject, decision: QuotaDecision): string {
  if (decision.source === 'open') return '';
  const { terms } = subject;
  const { limits } = terms;
  const { used, nowMs, period } = decision;
  const keySeconds = secondsUntil(decision.keyMinuteResetMs, nowMs);
  const accountSeconds = secondsUntil(decision.accountMinuteResetMs, nowMs);
  const monthSeconds = secondsUntil(period.endMs, nowMs);

  // The tightest window has least left; on a tie the later reset is the one that matters.
  let field = '';
  let tightestLimit = -1;
  let tightestLeft = Infinity;
  let tightestSeconds = 0;
  if (limits.keyMinute !== Infinity) {
    const left = remaining(limits.keyMinute, used.keyMinute);
    field = `"key-minute";r=${left};t=${keySeconds}`;
    tightestLimit = limits.keyMinute;
    tightestLeft = left;
    tightestSeconds = keySeconds;
  }
  if (limits.accountMinute !== Infinity) {
    const left = remaining(limits.accountMinute, used.accountMinute);
    field = `${field === '' ? '' : `${field}, `}"account-minute";r=${left};t=${accountSeconds}`;
    if (left < tightestLeft || (left === tightestLeft && accountSeconds > tightestSeconds)) {
      tightestLimit = limits.accountMinute;
      tightestLeft = left;
      tightestSeconds = accountSeconds;
    }
  }
  if (limits.accountMonth !== Infinity) {
    const left = remaining(limits.accountMonth, used.accountMonth);
    field = `${field === '' ? '' : `${field}, `}"account-month";r=${left};t=${monthSeconds}`;
    if (left <= tightestLeft) {
      tightestLimit = limits.accountMonth;
      tightestLeft = left;
      tightestSeconds = monthSeconds;
    }
  }
  if (limits.keyMonth !== Infinity) {
    const left = remaining(limits.keyMonth, used.keyMonth);
    field = `${field === '' ? '' : `${field}, `}"key-month";r=${left};t=${monthSeconds}`;
    if (left <= tightestLeft) {
      tightestLimit = limits.keyMonth;
      tightestLeft = left;
      tightestSeconds = monthSeconds;
    }
  }
  if (tightestLimit < 0) return '';
  if (terms.policyFieldPeriod !== period.label) {
    terms.policyField = policyField(limits, period);
    terms.policyFieldPeriod = period.label;
  }
  return (
    `RateLimit-Policy: ${terms.policyField}\r\nRateLimit: ${field}\r\nX-RateLimit-Limit: ${tightestLimit}\r\n` +
    `X-RateLimit-Remaining: ${tightestLeft}\r\nX-RateLimit-Reset: ${tightestSeconds}\r\n`
  );
}

/** A limit of one of our own endpoints, as it stands. */
export interface OwnPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/** The lines of a plan's limits with that of an endpoint before them; `X-RateLimit-*` are of the tightest of all. */
export function linesWithOwn(lines: string, own: OwnPolicy): string {
  const { name, limit, windowSeconds, remaining: left, resetSeconds } = own;
  const plan = fieldsOfLines(lines);
  const before = (field: string): string => {
    const value = fieldValue(plan, field);
    return value === undefined ? '' : `, ${value}`;
  };
  const isTightest = left <= Number(fieldValue(plan, 'x-ratelimit-remaining') ?? Infinity);
  return linesOf([
    'RateLimit-Policy',
    `"${name}";q=${limit};w=${windowSeconds}${before('ratelimit-policy')}`,
    'RateLimit',
    `"${name}";r=${left};t=${resetSeconds}${before('ratelimit')}`,
    ...(isTightest
      ? ['X-RateLimit-Limit', `${limit}`, 'X-RateLimit-Remaining', `${left}`, 'X-RateLimit-Reset', `${resetSeconds}`]
      : plan.slice(4)),
  ]);
}

const RESET_FIELD = 'X-RateLimit-Reset: ';

/**
 * The lines of an error: without `X-RateLimit-Reset` where that is beyond what a client is asked to wait. ky and others
 * take it for a `Retry-After` where there is none. `RateLimit` says it still.
 */
export function withoutLongReset(lines: string): string {
  const at = lines.lastIndexOf(RESET_FIELD);
  if (at === -1) return lines;
  const end = lines.indexOf('\r\n', at);
  const seconds = Number(lines.slice(at + RESET_FIELD.length, end));
  return seconds * 1_000 <= LONGEST_WAIT_MS ? lines : lines.slice(0, at) + lines.slice(end + 2);
}

/**
 * `Retry-After` of a refusal in whole seconds: never before the reset, with a little jitter so that clients spread out.
 */
export function retryAfterSeconds(decision: QuotaDecision): number {
  const seconds = Math.max(1, Math.ceil((decision.retryAtMs - decision.nowMs) / 1_000));
  const jitter = decision.retryAtMs >= decision.period.endMs ? MONTH_JITTER_SECONDS : MINUTE_JITTER_SECONDS;
  return spread(seconds, Math.floor(Math.random() * jitter));
}

/** What is left of a limit; never negative, also when a limit was lowered below what is used. */
export function remaining(limit: number, used: number): number {
  return used >= limit ? 0 : limit - used;
}

/** Every limited window with its limit and count, in the order of the fields. */
export function limitedWindows(
  limits: QuotaLimits,
  used: QuotaCounts,
): { policy: string; window: 'minute' | 'month'; of: 'key' | 'account'; limit: number; used: number }[] {
  return [
    { policy: 'key-minute', window: 'minute', of: 'key', limit: limits.keyMinute, used: used.keyMinute } as const,
    {
      policy: 'account-minute',
      window: 'minute',
      of: 'account',
      limit: limits.accountMinute,
      used: used.accountMinute,
    } as const,
    {
      policy: 'account-month',
      window: 'month',
      of: 'account',
      limit: limits.accountMonth,
      used: used.accountMonth,
    } as const,
    { policy: 'key-month', window: 'month', of: 'key', limit: limits.keyMonth, used: used.keyMonth } as const,
  ].filter((entry) => entry.limit !== Infinity);
}

/** `"key-minute";q=60;w=60, …`: changes once a month, because a month's `w` is its real length. */
function policyField(limits: QuotaLimits, period: MonthPeriod): string {
  const monthSeconds = Math.round((period.endMs - period.startMs) / 1_000);
  const none = { keyMinute: 0, accountMinute: 0, accountMonth: 0, keyMonth: 0 };
  return limitedWindows(limits, none)
    .map(
      ({ policy, limit, window }) => `"${policy}";q=${limit};w=${window === 'minute' ? MINUTE_SECONDS : monthSeconds}`,
    )
    .join(', ');
}

function secondsUntil(atMs: number, nowMs: number): number {
  return atMs <= nowMs ? 0 : Math.ceil((atMs - nowMs) / 1_000);
}
