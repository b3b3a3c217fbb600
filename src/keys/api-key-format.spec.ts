import { describe, expect, it } from '@jest/globals';
import {
  keyChecksum,
  createSecret,
  digestOf,
  digestOfHex,
  hashSecret,
  hexOfDigest,
  hintOf,
  isWellFormedSecret,
} from './api-key-format.js';

describe('the format of a secret', () => {
  it("has the checksum of GitHub's published vector", () => {
    expect(keyChecksum('zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ')).toBe('0mLq17');
  });

  it('accepts every secret that it makes', () => {
    for (let round = 0; round < 1_000; round++) {
      const secret = createSecret(round % 2 === 0 ? 'live' : 'test');
      expect(secret).toMatch(/^tg_(live|test)_[0-9A-Za-z]{36}$/);
      expect(isWellFormedSecret(secret)).toBe(true);
    }
  });

  it('refuses a secret with any one character changed', () => {
    const secret = createSecret('live');
    for (let index = 0; index < secret.length; index++) {
      const changed = secret.slice(0, index) + (secret[index] === 'x' ? 'y' : 'x') + secret.slice(index + 1);
      expect(isWellFormedSecret(changed)).toBe(false);
    }
  });

  it('refuses other shapes', () => {
    const secret = createSecret('live');
    for (const text of ['', 'tg_live_', secret.slice(1), `${secret}0`, ` ${secret}`, secret.replace('live', 'demo')]) {
      expect(isWellFormedSecret(text)).toBe(false);
    }
    // Base62 of 2^32 + a valid checksum: the same number modulo 2^32 is not the same checksum.
    expect(isWellFormedSecret(`tg_live_${'0'.repeat(30)}zzzzzz`)).toBe(false);
  });

  it('has a hexadecimal hash, and a hint with the last four characters', () => {
    const secret = createSecret('test');
    expect(hashSecret(secret)).toMatch(/^[0-9a-f]{64}$/);
    expect(hintOf(secret)).toBe(`tg_test_…${secret.slice(-4)}`);
  });

  it('keeps the same hash in memory and in the database', () => {
    for (let count = 0; count < 300; count++) {
      const secret = createSecret('live');
      expect(digestOf(secret)).toHaveLength(32);
      expect(hexOfDigest(digestOf(secret))).toBe(hashSecret(secret));
      expect(digestOfHex(hashSecret(secret))).toBe(digestOf(secret));
    }
  });
});
