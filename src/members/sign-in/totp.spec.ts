/** Codes of an authenticator app: RFC test vectors, single use, and small clock differences. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { base32, hotp, matchingStep, otpauthUri } from './totp.js';

/** RFC 6238 appendix B: seconds, then the codes of eight digits by SHA-1, SHA-256 and SHA-512. */
const VECTORS = [
  [59, '94287082', '46119246', '90693936'],
  [1_111_111_109, '07081804', '68084774', '25091201'],
  [1_111_111_111, '14050471', '67062674', '99943326'],
  [1_234_567_890, '89005924', '91819424', '93441116'],
  [2_000_000_000, '69279037', '90698825', '38618901'],
  [20_000_000_000, '65353130', '77737706', '47863826'],
] as const;
const keyOf = (bytes: number) => Buffer.from('1234567890'.repeat(7).slice(0, bytes));

describe('the code of a time step', () => {
  it.each(VECTORS)('at %i seconds matches RFC 6238 for each of its three hash functions', (seconds, ...codes) => {
    const step = Math.floor(seconds / 30);
    expect([hotp(keyOf(20), step, 8), hotp(keyOf(32), step, 8, 'sha256'), hotp(keyOf(64), step, 8, 'sha512')]).toEqual(
      codes,
    );
  });

  it('matches RFC 4226 appendix D, with six digits', () => {
    const codes = ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489'];
    expect(codes.map((_code, counter) => hotp(keyOf(20), counter))).toEqual(codes);
  });
});

describe('an entered code', () => {
  const key = randomBytes(20);
  const NOW_STEP = 59_000_000;
  const nowMs = NOW_STEP * 30_000 + 12_345;
  const codeOf = (step: number) => hotp(key, step);

  it.each([-1, 0, 1])('is accepted with a clock that is %i step off', (off) => {
    expect(matchingStep(key, codeOf(NOW_STEP + off), nowMs, 0)).toBe(NOW_STEP + off);
  });

  it.each([-2, 2, -1_000])('is refused with a clock that is %i steps off', (off) => {
    expect(matchingStep(key, codeOf(NOW_STEP + off), nowMs, 0)).toBeNull();
  });

  it('works once, and no older code works after it', () => {
    expect(matchingStep(key, codeOf(NOW_STEP), nowMs, NOW_STEP)).toBeNull();
    expect(matchingStep(key, codeOf(NOW_STEP - 1), nowMs, NOW_STEP)).toBeNull();
    expect(matchingStep(key, codeOf(NOW_STEP + 1), nowMs, NOW_STEP)).toBe(NOW_STEP + 1);
  });

  it('is accepted if an earlier step has the same six digits', () => {
    // Two steps of one key rarely have the same code. The later step must still be accepted.
    const twins = Buffer.from('key 644292');
    const code = hotp(twins, NOW_STEP);
    expect(hotp(twins, NOW_STEP + 1)).toBe(code);
    expect(matchingStep(twins, code, nowMs, NOW_STEP)).toBe(NOW_STEP + 1);
  });

  it.each(['', '12345', '1234567', '12345a', ' 12345', '１２３４５６', '-12345', '1e5000'])('cannot be %j', (text) => {
    expect(matchingStep(key, text, nowMs, 0)).toBeNull();
  });
});

describe('the setup of an authenticator app', () => {
  it('encodes the secret in base 32 as RFC 4648 does', () => {
    const vectors = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'];
    const texts = ['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'];
    expect(vectors.map((text) => base32(Buffer.from(text)))).toEqual(texts);
  });

  it('escapes the names of the installation and the member', () => {
    const uri = otpauthUri(Buffer.from('foobar'), 'Rafting & Co: Admin', 'ana+1@example.com');
    expect(uri).toBe(
      'otpauth://totp/Rafting%20%26%20Co%3A%20Admin:ana%2B1%40example.com' +
        '?secret=MZXW6YTBOI&issuer=Rafting%20%26%20Co%3A%20Admin',
    );
    expect(new URL(uri).searchParams.get('issuer')).toBe('Rafting & Co: Admin');
  });
});
