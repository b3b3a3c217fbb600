/** Invalid keys are counted per address and minute, in bounded memory. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import type { ErrorCode } from '../platform/problems/errors.js';
import { FailedAttempts, isFailedAttempt } from './failed-attempts.js';

const clock = { now: (): number => nowMs };
let nowMs: number;
let attempts: FailedAttempts;
let logged: string[];
const logger = pino({ level: 'warn' }, { write: (line) => void logged.push(line) });

beforeEach(() => {
  nowMs = 1_000_000;
  logged = [];
  attempts = new FailedAttempts(3, clock, logger);
});

function fail(address: string, times = 1, isShared = false): void {
  for (let time = 0; time < times; time++) attempts.recordAttempt(address, isShared);
}

/** Returns the seconds of `Retry-After`, or 0 if the address is not throttled. */
function refusedFor(address: string): number {
  const refusal = attempts.problemFor(address);
  if (refusal === undefined) return 0;
  const [name, seconds] = refusal.options.headers ?? [];
  expect({ code: refusal.code, name }).toEqual({ code: 'too_many_failed_attempts', name: 'Retry-After' });
  expect(refusal.options.detail).toContain(`retry in ${seconds} seconds.`);
  return Number(seconds);
}

describe('an address', () => {
  it('is refused after too many attempts until its minute ends', () => {
    fail('192.0.2.1', 2);
    expect(refusedFor('192.0.2.1')).toBe(0);
    nowMs += 20_000;
    fail('192.0.2.1');
    expect(refusedFor('192.0.2.1')).toBeGreaterThanOrEqual(40);
    expect(refusedFor('192.0.2.1')).toBeLessThan(43);
    nowMs += 39_999;
    expect(refusedFor('192.0.2.1')).toBeGreaterThanOrEqual(1);
    nowMs += 1;
    expect(refusedFor('192.0.2.1')).toBe(0);
    fail('192.0.2.1', 2);
    expect(refusedFor('192.0.2.1')).toBe(0);
  });

  it('does not affect other addresses', () => {
    fail('192.0.2.1', 3);
    expect(refusedFor('192.0.2.2')).toBe(0);
  });

  it('counts as its /64 in IPv6, and as IPv4 if it is IPv4-mapped', () => {
    for (const end of ['1', '2', 'ffff:1']) fail(`2001:db8::${end}`);
    expect(refusedFor('2001:db8:0:0:abcd::1')).toBeGreaterThan(0);
    expect(refusedFor('2001:db8:0:1::1')).toBe(0);
    for (const address of ['192.0.2.9', '::ffff:192.0.2.9', '::ffff:c000:209']) fail(address);
    expect(refusedFor('192.0.2.9')).toBeGreaterThan(0);
  });

  it('of an unknown proxy is not counted', () => {
    fail('10.0.0.1', 10, true);
    expect(refusedFor('10.0.0.1')).toBe(0);
  });

  it('is not throttled longer if the clock is set back', () => {
    fail('192.0.2.1', 3);
    nowMs -= 3_600_000;
    expect(refusedFor('192.0.2.1')).toBe(0);
  });
});

it.each<[ErrorCode, boolean]>([
  ['invalid_api_key', true],
  ['expired_api_key', false],
  ['revoked_api_key', false],
  ['missing_api_key', false],
  ['malformed_authorization', false],
  ['key_paused', false],
  ['ip_not_allowed', false],
  ['account_suspended', false],
  ['authentication_unavailable', false],
])('%s is an attempt: %s', (code, counts) => {
  expect(isFailedAttempt(code)).toBe(counts);
});

it('a limit of zero counts no attempts', () => {
  attempts = new FailedAttempts(0, clock, logger);
  fail('192.0.2.1', 1_000);
  expect(refusedFor('192.0.2.1')).toBe(0);
});

describe('a limit that changes', () => {
  it('to zero stops throttling and clears the counts', () => {
    fail('192.0.2.1');
    fail('192.0.2.2', 3);
    expect(refusedFor('192.0.2.2')).toBeGreaterThan(0);
    attempts.setLimit(0);
    expect([refusedFor('192.0.2.1'), refusedFor('192.0.2.2')]).toEqual([0, 0]);
    fail('192.0.2.2', 5);
    attempts.setLimit(3);
    fail('192.0.2.2', 2);
    expect(refusedFor('192.0.2.2')).toBe(0);
    fail('192.0.2.2');
    expect(refusedFor('192.0.2.2')).toBeGreaterThan(0);
  });

  it('applies to existing counts', () => {
    fail('192.0.2.1', 3);
    attempts.setLimit(5);
    expect(refusedFor('192.0.2.1')).toBe(0);
    fail('192.0.2.1');
    expect(refusedFor('192.0.2.1')).toBe(0);
    attempts.setLimit(2);
    expect(refusedFor('192.0.2.1')).toBeGreaterThan(0);
    expect(refusedFor('192.0.2.2')).toBe(0);
  });

  it('logs a throttled address once, and again after the limit was raised and exceeded', () => {
    fail('192.0.2.1', 2);
    attempts.setLimit(2);
    refusedFor('192.0.2.1');
    refusedFor('192.0.2.1');
    expect(logged).toHaveLength(1);
    attempts.setLimit(1);
    refusedFor('192.0.2.1');
    expect(logged).toHaveLength(1);
    attempts.setLimit(4);
    fail('192.0.2.1', 2);
    refusedFor('192.0.2.1');
    expect(logged).toHaveLength(2);
  });
});

it('too many addresses evict the one whose minute ends first', () => {
  fail('192.0.2.1', 3);
  nowMs += 1_000;
  for (let index = 0; index < 49_999; index++) fail(`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`);
  expect(refusedFor('192.0.2.1')).toBeGreaterThan(0);
  fail('203.0.113.1', 3);
  expect(refusedFor('192.0.2.1')).toBe(0);
  expect(refusedFor('203.0.113.1')).toBeGreaterThan(0);
});
