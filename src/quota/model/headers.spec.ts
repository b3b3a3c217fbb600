/** The fields are valid structured fields (RFC 9651) and match the decision. */
import { describe, expect, it, jest } from '@jest/globals';
import { isInnerList, parseList } from 'structured-headers';
import { bitsOf, countsWith, type NamedCounts, subjectWith } from '../../../test/support/quotas.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { quotaLines, remainingQuota, retryAfterSeconds } from './headers.js';
import { monthPeriodAt } from './month-period.js';
import type { QuotaDecision } from './policies.js';

const NOW_MS = Date.parse('2026-11-20T10:00:00.250Z');
const FOUR: Partial<NamedCounts> = { keyMinute: 60, accountMinute: 120, accountMonth: 10_000, keyMonth: 5_000 };

function decisionWith(used: Partial<NamedCounts>, more: Partial<QuotaDecision> = {}): QuotaDecision {
  return {
    admitted: true,
    source: 'store',
    cost: 1,
    nowMs: NOW_MS,
    period: monthPeriodAt(NOW_MS),
    used: countsWith(used),
    keyMinuteResetMs: 0,
    accountMinuteResetMs: 0,
    violated: 0,
    retryAtMs: 0,
    ...more,
  };
}

function fieldsOf(limits: Partial<NamedCounts>, decision: QuotaDecision): Map<string, string> {
  const flat = fieldsOfLines(quotaLines(subjectWith(limits), decision));
  const fields = new Map<string, string>();
  for (let at = 0; at < flat.length; at += 2) fields.set(flat[at] ?? '', flat[at + 1] ?? '');
  return fields;
}

/** A list of strings with integer parameters, as [name, parameters]. */
function parsed(field: string | undefined): [unknown, Record<string, unknown>][] {
  return parseList(field ?? '').map((member) => {
    if (isInnerList(member)) throw new Error('an inner list');
    const [name, parameters] = member;
    for (const value of parameters.values()) expect(value).toEqual(expect.any(Number));
    return [name, Object.fromEntries(parameters)];
  });
}

describe('the rate-limit fields', () => {
  it('name a policy for every limited window, in the same order in both fields', () => {
    const fields = fieldsOf(FOUR, decisionWith({ keyMinute: 1, accountMinute: 2, accountMonth: 3, keyMonth: 4 }));
    const novemberSeconds = 30 * 86_400;
    expect(parsed(fields.get('RateLimit-Policy'))).toEqual([
      ['key-minute', { q: 60, w: 60 }],
      ['account-minute', { q: 120, w: 60 }],
      ['account-month', { q: 10_000, w: novemberSeconds }],
      ['key-month', { q: 5_000, w: novemberSeconds }],
    ]);
    expect(parsed(fields.get('RateLimit')).map(([name, { r }]) => [name, r])).toEqual([
      ['key-minute', 59],
      ['account-minute', 118],
      ['account-month', 9_997],
      ['key-month', 4_996],
    ]);
  });

  it.each([
    ['key-minute', { keyMinute: 7 }],
    ['account-minute', { accountMinute: 7 }],
    ['account-month', { accountMonth: 7 }],
    ['key-month', { keyMonth: 7 }],
    ['account-day', { accountDay: 7 }],
    ['key-day', { keyDay: 7 }],
  ])('name only %s if it is the only limit', (name, limits) => {
    const fields = fieldsOf(limits, decisionWith({}));
    expect(parsed(fields.get('RateLimit-Policy')).map(([policy]) => policy)).toEqual([name]);
    expect(parsed(fields.get('RateLimit')).map(([policy]) => policy)).toEqual([name]);
    expect(fields.get('X-RateLimit-Limit')).toBe('7');
    expect(fields.get('X-RateLimit-Remaining')).toBe('7');
  });

  it('are absent if nothing is limited, and if the request was not counted', () => {
    expect(fieldsOf({}, decisionWith({})).size).toBe(0);
    expect(fieldsOf(FOUR, decisionWith({}, { source: 'open' })).size).toBe(0);
  });

  it('have in t the time until the window frees capacity, rounded up to whole seconds', () => {
    const fields = fieldsOf(
      FOUR,
      decisionWith(
        { keyMinute: 1, accountMinute: 1 },
        { keyMinuteResetMs: NOW_MS + 1, accountMinuteResetMs: NOW_MS + 59_000 },
      ),
    );
    const left = (monthPeriodAt(NOW_MS).endMs - NOW_MS) / 1_000;
    expect(parsed(fields.get('RateLimit')).map(([, { t }]) => t)).toEqual([1, 59, Math.ceil(left), Math.ceil(left)]);
  });

  it.each([
    ['2026-02-10T00:00:00Z', 28],
    ['2028-02-10T00:00:00Z', 29],
    ['2026-04-10T00:00:00Z', 30],
    ['2026-12-10T00:00:00Z', 31],
  ])('give the month of %s its real length of %i days', (instant, days) => {
    const nowMs = Date.parse(instant);
    const fields = fieldsOf({ accountMonth: 10 }, decisionWith({}, { nowMs, period: monthPeriodAt(nowMs) }));
    expect(parsed(fields.get('RateLimit-Policy'))).toEqual([['account-month', { q: 10, w: days * 86_400 }]]);
  });

  it.each([
    ['2026-10-25T12:00:00Z', 25],
    ['2026-03-29T12:00:00Z', 23],
    ['2026-11-20T10:00:00Z', 24],
  ])('give the day of %s in Vienna its real length of %i hours', (instant, hours) => {
    const nowMs = Date.parse(instant);
    const period = monthPeriodAt(nowMs, 'Europe/Vienna');
    const fields = fieldsOf({ keyDay: 10 }, decisionWith({ keyDay: 4 }, { nowMs, period }));
    expect(parsed(fields.get('RateLimit-Policy'))).toEqual([['key-day', { q: 10, w: hours * 3_600 }]]);
    const left = Math.ceil((period.day.endMs - nowMs) / 1_000);
    expect(parsed(fields.get('RateLimit'))).toEqual([['key-day', { r: 6, t: left }]]);
  });

  it('change with the next month, although the policy text is cached', () => {
    const subject = subjectWith({ accountMonth: 10 });
    const widths = ['2026-01-31T23:59:59Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'].map((instant) => {
      const nowMs = Date.parse(instant);
      const flat = fieldsOfLines(quotaLines(subject, decisionWith({}, { nowMs, period: monthPeriodAt(nowMs) })));
      return parsed(flat[1])[0]?.[1]['w'];
    });
    expect(widths).toEqual([31 * 86_400, 28 * 86_400, 31 * 86_400]);
  });

  it('show 0 remaining if a limit was lowered below the usage', () => {
    const fields = fieldsOf({ keyMinute: 10, accountMonth: 50 }, decisionWith({ keyMinute: 55, accountMonth: 900 }));
    expect(parsed(fields.get('RateLimit')).map(([, { r }]) => r)).toEqual([0, 0]);
    expect(fields.get('X-RateLimit-Remaining')).toBe('0');
    expect(remainingQuota(10, 55)).toBe(0);
  });

  it('are integers that a structured field can carry, up to the largest limit that a plan can set', () => {
    const largest = 999_999_999_999_999;
    const fields = fieldsOf({ accountMonth: largest, keyMinute: 0 }, decisionWith({}));
    expect(parsed(fields.get('RateLimit')).map(([, { r }]) => r)).toEqual([0, largest]);
    expect(parsed(fields.get('RateLimit-Policy')).map(([, { q }]) => q)).toEqual([0, largest]);
  });
});

describe('the X-RateLimit fields', () => {
  const tightest = (limits: Partial<NamedCounts>, decision: QuotaDecision): (string | undefined)[] => {
    const fields = fieldsOf(limits, decision);
    return ['Limit', 'Remaining', 'Reset'].map((name) => fields.get(`X-RateLimit-${name}`));
  };
  const resets = { keyMinuteResetMs: NOW_MS + 5_000, accountMinuteResetMs: NOW_MS + 9_000 };
  const monthSeconds = String(Math.ceil((monthPeriodAt(NOW_MS).endMs - NOW_MS) / 1_000));

  it('describe the window with the least left, in delta seconds', () => {
    expect(tightest(FOUR, decisionWith({ keyMinute: 10, accountMinute: 90 }, resets))).toEqual(['120', '30', '9']);
    expect(tightest(FOUR, decisionWith({ keyMinute: 40, accountMinute: 90 }, resets))).toEqual(['60', '20', '5']);
    expect(tightest(FOUR, decisionWith({ accountMonth: 9_990 }, resets))).toEqual(['10000', '10', monthSeconds]);
    expect(tightest(FOUR, decisionWith({ keyMonth: 4_999 }, resets))).toEqual(['5000', '1', monthSeconds]);
  });

  it('describe the month if a minute has as little left, because the month resets later', () => {
    expect(tightest(FOUR, decisionWith({ keyMinute: 60, accountMonth: 10_000 }, resets))).toEqual([
      '10000',
      '0',
      monthSeconds,
    ]);
  });

  it('describe the minute that resets later if both have as little left', () => {
    const used = decisionWith({ keyMinute: 60, accountMinute: 120 }, resets);
    expect(tightest({ keyMinute: 60, accountMinute: 120 }, used)).toEqual(['120', '0', '9']);
  });
});

describe('Retry-After', () => {
  const refusal = (retryAtMs: number, violated = bitsOf('key-minute')): QuotaDecision =>
    decisionWith({ keyMinute: 60 }, { admitted: false, violated, retryAtMs, keyMinuteResetMs: retryAtMs });

  it.each([0, 0.5, 0.999_999])('is a whole number and never earlier than t, with the random value %d', (random) => {
    const draw = jest.spyOn(Math, 'random').mockReturnValue(random);
    for (let ms = 1; ms <= 61_000; ms += 313) {
      const decision = refusal(NOW_MS + ms);
      const t = parsed(fieldsOf({ keyMinute: 60 }, decision).get('RateLimit'))[0]?.[1]['t'] as number;
      const seconds = retryAfterSeconds(decision);
      expect(Number.isInteger(seconds)).toBe(true);
      expect(seconds).toBeGreaterThanOrEqual(Math.max(1, t));
      expect(NOW_MS + seconds * 1_000).toBeGreaterThanOrEqual(decision.retryAtMs);
      expect(seconds).toBeLessThanOrEqual(t + 3);
    }
    draw.mockRestore();
  });

  it('of a used-up month is not before the month ends, and within a minute of it', () => {
    const { endMs } = monthPeriodAt(NOW_MS);
    for (let draw = 0; draw < 200; draw++) {
      const atMs = NOW_MS + retryAfterSeconds(refusal(endMs, bitsOf('account-month'))) * 1_000;
      expect(atMs).toBeGreaterThanOrEqual(endMs);
      expect(atMs).toBeLessThanOrEqual(endMs + 61_000);
    }
  });

  it('is not raised above a minute by jitter, because some SDKs then hardly wait', () => {
    for (let draw = 0; draw < 200; draw++) {
      expect(retryAfterSeconds(refusal(NOW_MS + 59_000))).toBeLessThanOrEqual(60);
    }
  });

  it('is spread, so that not all clients get the same', () => {
    const drawn = new Set(Array.from({ length: 200 }, () => retryAfterSeconds(refusal(NOW_MS + 10_000))));
    expect(drawn.size).toBe(3);
  });

  it('is at least a second, even if there is room already', () => {
    expect(retryAfterSeconds(refusal(NOW_MS))).toBeGreaterThanOrEqual(1);
  });
});

it('without limits there are no fields', () => {
  expect(fieldsOf({}, decisionWith({})).size).toBe(0);
});
