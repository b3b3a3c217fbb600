/** Recovery codes as they are made and read; that each works once is tried on both databases. */
import { describe, expect, it } from '@jest/globals';
import { newRecoveryCodes, recoveryCodeHash } from './recovery-codes.js';

describe('recovery codes', () => {
  it('are ten of eighty random bits, in groups that a person can copy', () => {
    const codes = Array.from({ length: 100 }, newRecoveryCodes).flat();
    expect(codes).toHaveLength(1_000);
    expect(new Set(codes).size).toBe(1_000);
    for (const code of codes) expect(code).toMatch(/^(?:[0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
  });

  it('are read in capitals, with spaces, without hyphens, and with letters for the digits that they look like', () => {
    const hash = recoveryCodeHash('01ab-cdef-ghjk-mnpq');
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    for (const typed of ['01ABCDEFGHJKMNPQ', ' 01ab cdef ghjk mnpq\n', 'olab-cdef-ghjk-mnpq', 'OIab-cdef-ghjk-mnpq']) {
      expect(recoveryCodeHash(typed)).toBe(hash);
    }
    expect(recoveryCodeHash('01ab-cdef-ghjk-mnpr')).not.toBe(hash);
  });

  it.each(['', '123456', '01ab-cdef-ghjk-mnp', '01ab-cdef-ghjk-mnpqr', '01ab-cdef-ghjk-mnpu', '01ab-cdef-ghjk-mnpñ'])(
    'are not %j',
    (typed) => {
      expect(recoveryCodeHash(typed)).toBeNull();
    },
  );
});
