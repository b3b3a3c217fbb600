/** Generation and parsing of recovery codes. Other tests check on both databases that each code works once. */
import { describe, expect, it } from '@jest/globals';
import { newRecoveryCodes, recoveryCodeHash } from './recovery-codes.js';

describe('recovery codes', () => {
  it('are ten unique codes of four groups of four characters', () => {
    const codes = Array.from({ length: 100 }, newRecoveryCodes).flat();
    expect(codes).toHaveLength(1_000);
    expect(new Set(codes).size).toBe(1_000);
    for (const code of codes) expect(code).toMatch(/^(?:[0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
  });

  it('accept capitals, spaces, missing hyphens, and letters that look like digits', () => {
    const hash = recoveryCodeHash('01ab-cdef-ghjk-mnpq');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    for (const typed of ['01ABCDEFGHJKMNPQ', ' 01ab cdef ghjk mnpq\n', 'olab-cdef-ghjk-mnpq', 'OIab-cdef-ghjk-mnpq']) {
      expect(recoveryCodeHash(typed)).toBe(hash);
    }
    expect(recoveryCodeHash('01ab-cdef-ghjk-mnpr')).not.toBe(hash);
  });

  it.each(['', '123456', '01ab-cdef-ghjk-mnp', '01ab-cdef-ghjk-mnpqr', '01ab-cdef-ghjk-mnpu', '01ab-cdef-ghjk-mnpñ'])(
    'are not parsed from %j',
    (typed) => {
      expect(recoveryCodeHash(typed)).toBeNull();
    },
  );
});
