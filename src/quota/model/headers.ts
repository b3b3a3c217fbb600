/**
 * Formats the rate-limit response fields. `RateLimit-Policy` and `RateLimit` follow
 * draft-ietf-httpapi-ratelimit-headers-11 (structured fields, RFC 9651). `X-RateLimit-*` describes the tightest window.
 * `Retry-After` follows RFC 9110 section 10.2.3. The draft can still change its format, so only this file writes these
 * fields.
 */
import { fieldsOfLines, fieldValue, linesOf } from '../../http/grammar/fields.js';
import { LONGEST_WAIT_MS, addJitter } from '../../platform/problems/retry-after.js';
import type { MonthPeriod } from './month-period.js';
import { MINUTE_SECONDS } from '../../platform/sliding-window.js';
import { WINDOWS, type QuotaWindow } from '../../platform/quotas/windows.js';
import { NOTHING_USED, type QuotaCounts, type QuotaDecision, type QuotaLimits } from './policies.js';
import type { QuotaSubject } from './subject.js';

/**
 * Names of the rate-limit and retry fields that only the gateway sets, in lower case. The list includes field names of
 * earlier drafts. The gateway removes fields with these names from backend responses.
 */
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

const CALENDAR_JITTER_SECONDS = 60;
const MINUTE_JITTER_SECONDS = 3;

// Computed once per window, because every response needs them.
const ITEM_STARTS = WINDOWS.map(({ name }) => `"${name}";r=`);
const ARE_CALENDAR = WINDOWS.map(({ kind }) => kind === 'calendar');
const ARE_OF_MONTH = WINDOWS.map(({ period }) => period === 'month');
const ARE_OF_KEY = WINDOWS.map(({ of }) => of === 'key');

/**
 * Returns the rate-limit fields of a decision as header lines, each with CRLF. Returns '' if the request was not
 * counted, or if there are no limits.
 */
export function quotaLines(subject: QuotaSubject, decision: QuotaDecision): string {
  if (decision.source === 'open') return '';
  const { terms } = subject;
  const { limits } = terms;
  const { used, nowMs, period } = decision;
  const keySeconds = secondsUntil(decision.keyMinuteResetMs, nowMs);
  const accountSeconds = secondsUntil(decision.accountMinuteResetMs, nowMs);
  const monthSeconds = secondsUntil(period.endMs, nowMs);
  const daySeconds = secondsUntil(period.day.endMs, nowMs);

  // The tightest window has the lowest remaining quota. On a tie, a month window wins, and otherwise the window that
  // resets later.
  let field = '';
  let tightestLimit = -1;
  let tightestLeft = Infinity;
  let tightestSeconds = 0;
  for (let index = 0; index < WINDOWS.length; index++) {
    const limit = limits[index]!;
    if (limit === Infinity) continue;
    const left = remainingQuota(limit, used[index]!);
    const isCalendar = ARE_CALENDAR[index]!;
    const slidingSeconds = ARE_OF_KEY[index]! ? keySeconds : accountSeconds;
    const calendarSeconds = ARE_OF_MONTH[index]! ? monthSeconds : daySeconds;
    const seconds = isCalendar ? calendarSeconds : slidingSeconds;
    const item = `${ITEM_STARTS[index]!}${left};t=${seconds}`;
    field = field === '' ? item : `${field}, ${item}`;
    if (left > tightestLeft || (left === tightestLeft && seconds <= tightestSeconds && !ARE_OF_MONTH[index]!)) continue;
    tightestLimit = limit;
    tightestLeft = left;
    tightestSeconds = seconds;
  }
  if (tightestLimit < 0) return '';
  if (terms.policyFieldPeriod !== period) {
    terms.policyField = policyField(limits, period);
    terms.policyFieldPeriod = period;
  }
  return (
    `RateLimit-Policy: ${terms.policyField}\r\nRateLimit: ${field}\r\nX-RateLimit-Limit: ${tightestLimit}\r\n` +
    `X-RateLimit-Remaining: ${tightestLeft}\r\nX-RateLimit-Reset: ${tightestSeconds}\r\n`
  );
}

/** OwnPolicy is a throttle of one of the gateway's own endpoints, with its current state. */
export interface OwnPolicy {
  readonly name: string;
  readonly limit: number;
  readonly windowSeconds: number;
  readonly remaining: number;
  readonly resetSeconds: number;
}

/**
 * Adds a throttle of one of the gateway's own endpoints to the header lines of a plan. The throttle comes first.
 * `X-RateLimit-*` describes the throttle if no limit of the plan has less quota left.
 */
export function linesWithOwn(lines: string, own: OwnPolicy): string {
  const { name, limit, windowSeconds, remaining: left, resetSeconds } = own;
  const plan = fieldsOfLines(lines);
  const planItems = (field: string): string => {
    const value = fieldValue(plan, field);
    return value === undefined ? '' : `, ${value}`;
  };
  const isTightest = left <= Number(fieldValue(plan, 'x-ratelimit-remaining') ?? Infinity);
  return linesOf([
    'RateLimit-Policy',
    `"${name}";q=${limit};w=${windowSeconds}${planItems('ratelimit-policy')}`,
    'RateLimit',
    `"${name}";r=${left};t=${resetSeconds}${planItems('ratelimit')}`,
    ...(isTightest
      ? ['X-RateLimit-Limit', `${limit}`, 'X-RateLimit-Remaining', `${left}`, 'X-RateLimit-Reset', `${resetSeconds}`]
      : plan.slice(4)),
  ]);
}

const RESET_FIELD = 'X-RateLimit-Reset: ';

/**
 * Removes `X-RateLimit-Reset` from the header lines of an error if its wait is longer than `LONGEST_WAIT_MS`. Some
 * clients, such as ky, use this field as `Retry-After` if there is none. `RateLimit` still has the value.
 */
export function withoutLongReset(lines: string): string {
  const at = lines.lastIndexOf(RESET_FIELD);
  if (at === -1) return lines;
  const end = lines.indexOf('\r\n', at);
  const seconds = Number(lines.slice(at + RESET_FIELD.length, end));
  return seconds * 1_000 <= LONGEST_WAIT_MS ? lines : lines.slice(0, at) + lines.slice(end + 2);
}

/**
 * Returns the value of `Retry-After` for a refusal, in whole seconds. The wait never ends before the window has room
 * again. Random jitter keeps clients from returning all at once.
 */
export function retryAfterSeconds(decision: QuotaDecision): number {
  const seconds = Math.max(1, Math.ceil((decision.retryAtMs - decision.nowMs) / 1_000));
  const jitter = decision.retryAtMs >= decision.period.day.endMs ? CALENDAR_JITTER_SECONDS : MINUTE_JITTER_SECONDS;
  return addJitter(seconds, Math.floor(Math.random() * jitter));
}

/**
 * Returns the remaining quota of a limit. The result is never negative, even if the limit was lowered below the usage.
 */
export function remainingQuota(limit: number, used: number): number {
  return used >= limit ? 0 : limit - used;
}

/** LimitedWindow is one window that has a limit, with its count. */
export interface LimitedWindow {
  readonly window: QuotaWindow;
  /** Index of the window in `WINDOWS`. */
  readonly index: number;
  readonly limit: number;
  readonly used: number;
}

/** Returns every window that has a limit, in the order of the response fields. */
export function limitedWindows(limits: QuotaLimits, used: Readonly<QuotaCounts>): LimitedWindow[] {
  return WINDOWS.map((window, index) => ({ window, index, limit: limits[index]!, used: used[index]! })).filter(
    ({ limit }) => limit !== Infinity,
  );
}

/**
 * Returns when a window resets, in ms of the store's time. A sliding window resets when its oldest usage leaves the
 * window. Returns 0 for a sliding window without usage.
 */
export function resetMsOf(
  { of, period, kind }: QuotaWindow,
  counted: Pick<QuotaDecision, 'period' | 'keyMinuteResetMs' | 'accountMinuteResetMs'>,
): number {
  if (kind === 'calendar') return spanOf(period, counted.period).endMs;
  return of === 'key' ? counted.keyMinuteResetMs : counted.accountMinuteResetMs;
}

/** Returns the start and end of a calendar window's period. */
function spanOf(period: QuotaWindow['period'], at: MonthPeriod): { readonly startMs: number; readonly endMs: number } {
  return period === 'day' ? at.day : at;
}

/**
 * Returns the value of `RateLimit-Policy`, such as `"key-minute";q=60;w=60, …`. The value can change daily, because `w`
 * is the actual length of the current month or day.
 */
function policyField(limits: QuotaLimits, period: MonthPeriod): string {
  return limitedWindows(limits, NOTHING_USED)
    .map(({ window, limit }) => {
      const { startMs, endMs } = spanOf(window.period, period);
      const seconds = window.kind === 'calendar' ? Math.round((endMs - startMs) / 1_000) : MINUTE_SECONDS;
      return `"${window.name}";q=${limit};w=${seconds}`;
    })
    .join(', ');
}

function secondsUntil(atMs: number, nowMs: number): number {
  return atMs <= nowMs ? 0 : Math.ceil((atMs - nowMs) / 1_000);
}
