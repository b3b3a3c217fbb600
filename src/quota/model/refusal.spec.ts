/** A refusal says which limit, how much of it is used, and when to come back. */
import { describe, expect, it } from '@jest/globals';
import { bitsOf, countsWith, type NamedCounts, subjectWith } from '../../../test/support/quotas.js';
import { ErrorPages } from '../../platform/problems/error-pages.js';
import { ERRORS } from '../../platform/problems/errors.js';
import { problemBody } from '../../platform/problems/problem-body.js';
import { problemBytes } from '../../platform/problems/problem-text.js';
import { monthPeriodAt } from './month-period.js';
import type { QuotaDecision } from './policies.js';
import { quotaProblem } from './refusal.js';

const PAGES = new ErrorPages('https://api.example.com');

const NOW_MS = Date.parse('2026-11-20T10:00:00Z');
const LIMITS: Partial<NamedCounts> = { keyMinute: 60, accountMinute: 120, accountMonth: 10_000, keyMonth: 5_000 };

function refusal(violated: number, more: Partial<QuotaDecision> = {}): QuotaDecision {
  const period = monthPeriodAt(NOW_MS);
  return {
    admitted: false,
    source: 'store',
    cost: 1,
    nowMs: NOW_MS,
    period,
    used: countsWith(LIMITS),
    keyMinuteResetMs: NOW_MS + 7_000,
    accountMinuteResetMs: NOW_MS + 9_000,
    violated,
    retryAtMs: (violated & bitsOf('account-month', 'key-month')) === 0 ? NOW_MS + 9_000 : period.endMs,
    ...more,
  };
}

const headersOf = (problem: ReturnType<typeof quotaProblem>): Record<string, string> => {
  const flat = problem.options.headers ?? [];
  return Object.fromEntries(flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : [])));
};

const inVienna = (limits: Partial<NamedCounts> = LIMITS) => subjectWith(limits, { timeZone: 'Europe/Vienna' });

describe('a used-up month', () => {
  it('is quota_exceeded, with the usage and the reset in the time zone of the account', () => {
    const problem = quotaProblem(inVienna(), refusal(bitsOf('account-month')));
    expect(problemBody(problem, 'req_1', PAGES)).toMatchObject({
      type: PAGES.typeOf('quota_exceeded'),
      title: ERRORS.quota_exceeded.title,
      status: 429,
      code: 'quota_exceeded',
      detail: 'Account acc_1 has used 10,000 of 10,000 requests this month. It resets at 2026-12-01T01:00:00+01:00.',
      'violated-policies': ['account-month'],
    });
  });

  it('tells clients not to retry, and has the reset time only in the body', () => {
    const problem = quotaProblem(inVienna(), refusal(bitsOf('account-month')));
    expect(headersOf(problem)).toEqual({ 'X-Should-Retry': 'false' });
    const body = problemBody(problem, 'req_1', PAGES);
    expect(body.resets_at).toBe('2026-12-01T01:00:00+01:00');
    expect(body).not.toHaveProperty('retry_after');
  });

  it('has a Retry-After only if the month ends within an hour', () => {
    const { endMs } = monthPeriodAt(NOW_MS);
    for (const [seconds, has] of [
      [1, true],
      [3_540, true],
      [3_601, false],
    ] as const) {
      const problem = quotaProblem(inVienna(), refusal(bitsOf('key-month'), { nowMs: endMs - seconds * 1_000 }));
      const { 'Retry-After': retryAfter, 'X-Should-Retry': shouldRetry } = headersOf(problem);
      expect([seconds, retryAfter !== undefined, shouldRetry]).toEqual([seconds, has, 'false']);
      expect(problem.options.retryAfter).toBe(has ? Number(retryAfter) : undefined);
      expect(Number(retryAfter ?? Infinity)).toBeGreaterThanOrEqual(seconds);
    }
  });

  it('of a day names the end of the day, and of a day and a month the end of the month', () => {
    const ofDay = quotaProblem(inVienna({ keyDay: 7 }), refusal(bitsOf('key-day')));
    expect([ofDay.code, ofDay.options.resetsAt]).toEqual(['quota_exceeded', '2026-11-21T01:00:00+01:00']);
    expect(ofDay.options.detail).toMatch(/^Key key_1 has used 0 of 7 requests today\. It resets at 2026-11-21T01:00/);
    const ofBoth = quotaProblem(inVienna(), refusal(bitsOf('account-month', 'key-day')));
    expect(ofBoth.options.resetsAt).toBe('2026-12-01T01:00:00+01:00');
    expect(ofBoth.options.detail).toMatch(/^Account acc_1 has used 10,000 of 10,000 requests this month\./);
  });

  it('of the key names the key', () => {
    const problem = quotaProblem(inVienna(), refusal(bitsOf('key-month')));
    expect(problem.options.detail).toMatch(/^Key key_1 has used 5,000 of 5,000 requests this month\./);
  });

  it('takes precedence over a used-up minute, and both are named', () => {
    const problem = quotaProblem(inVienna(), refusal(bitsOf('key-minute', 'account-month')));
    expect(problem.code).toBe('quota_exceeded');
    expect(problem.options.detail).toMatch(/^Account acc_1 has used 10,000 of 10,000 requests this month\./);
    expect(problem.options.violatedPolicies).toEqual(['key-minute', 'account-month']);
    expect(headersOf(problem)['X-Should-Retry']).toBe('false');
  });
});

describe('a used-up minute', () => {
  it('is rate_limited, and says in how many seconds to retry', () => {
    const problem = quotaProblem(inVienna(), refusal(bitsOf('key-minute')));
    const headers = headersOf(problem);
    expect(problem.code).toBe('rate_limited');
    expect(problem.status).toBe(429);
    expect(problem.options.detail).toBe(
      `Key key_1 has used 60 of 60 requests in the last minute. Try again in ${headers['Retry-After']} seconds.`,
    );
    expect(Number(headers['Retry-After'])).toBeGreaterThanOrEqual(9);
    expect(headers['X-Should-Retry']).toBe('true');
    expect(problemBody(problem, 'req_1', PAGES)).toMatchObject({
      'violated-policies': ['key-minute'],
      retry_after: Number(headers['Retry-After']),
    });
  });

  it('of the account names the account', () => {
    const problem = quotaProblem(inVienna(), refusal(bitsOf('account-minute')));
    expect(problem.options.detail).toMatch(/^Account acc_1 has used 120 of 120 requests in the last minute\./);
  });

  it('states the actual usage for a costly request that no longer fits', () => {
    const used = countsWith({ keyMinute: 58, accountMinute: 58, accountMonth: 58, keyMonth: 58 });
    const problem = quotaProblem(inVienna(), refusal(bitsOf('key-minute'), { cost: 5, used }));
    expect(problem.options.detail).toMatch(/^Key key_1 has used 58 of 60 requests in the last minute\./);
  });

  it.each([bitsOf('key-minute'), bitsOf('account-month')])(
    'does not ask to wait for a request that never fits: %d',
    (violated) => {
      const limits = { keyMinute: 1_000, accountMonth: 1_000 };
      const problem = quotaProblem(
        inVienna(limits),
        refusal(violated, { cost: 2_000, nowMs: NOW_MS, retryAtMs: NOW_MS }),
      );
      expect(headersOf(problem)).toEqual({ 'X-Should-Retry': 'false' });
      expect(problemBody(problem, 'req_1', PAGES)).not.toHaveProperty('retry_after');
      expect(problem.options.detail).toMatch(
        /^\w+ \w+ is limited to 1,000 requests in a (month|minute), and this request costs 2,000\. It can never succeed\.$/,
      );
    },
  );

  it('never claims more usage than the limit if the limit was lowered', () => {
    const problem = quotaProblem(inVienna({ keyMinute: 10 }), refusal(bitsOf('key-minute')));
    expect(problem.options.detail).toMatch(/^Key key_1 has used 10 of 10 requests in the last minute\./);
  });
});

it.each([1, 7, 60, 999, 1_000, 12_345, 100_000, 1_000_000, 9_007_199_254_740_991])(
  'formats %d with English thousands separators',
  (limit) => {
    const used = countsWith({ keyMonth: limit });
    const problem = quotaProblem(inVienna({ ...LIMITS, keyMonth: limit }), refusal(bitsOf('key-month'), { used }));
    const text = new Intl.NumberFormat('en-US').format(limit);
    expect(problem.options.detail).toMatch(`has used ${text} of ${text} requests`);
  },
);

it.each([
  bitsOf('key-minute'),
  bitsOf('account-minute'),
  bitsOf('account-month'),
  bitsOf('key-month'),
  bitsOf('key-minute', 'account-month'),
])('is serialized exactly like JSON.stringify: %d', (violated) => {
  for (const ofShare of [false, true]) {
    const problem = quotaProblem(inVienna(), refusal(violated, { ofShare }));
    expect(problemBytes(problem, 'req_1', PAGES)).toBe(JSON.stringify(problemBody(problem, 'req_1', PAGES)));
  }
});
