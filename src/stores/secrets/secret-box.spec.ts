/** Sealed secrets open with their key and for their row only. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { keyFor, newSecretsKey, parseSecretsKey, SealError, SecretBox } from './secret-box.js';

const ROW = 'member:mem_1';
const box = new SecretBox(randomBytes(32));

describe('a sealed secret', () => {
  const secret = randomBytes(20);
  const sealed = box.seal(secret, ROW);

  it('opens for its row, hides its content, and differs each time', () => {
    expect(box.open(sealed, ROW)).toEqual(secret);
    expect(box.open(box.seal(Buffer.alloc(0), ROW), ROW)).toEqual(Buffer.alloc(0));
    expect(Buffer.from(sealed.split('.')[2] ?? '', 'base64url').includes(secret)).toBe(false);
    expect(box.seal(secret, ROW)).not.toBe(sealed);
  });

  it('does not open for another row', () => {
    expect(() => box.open(sealed, 'member:mem_2')).toThrow(SealError);
  });

  it('reports a wrong key', () => {
    expect(() => new SecretBox(randomBytes(32)).open(sealed, ROW)).toThrow(/another TRAILGATE_SECRETS_KEY/);
  });

  it('does not open if it was changed or cut off', () => {
    const [version, name, text = ''] = sealed.split('.');
    const bytes = Buffer.from(text, 'base64url');
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => box.open(`${version}.${name}.${changed.toString('base64url')}`, ROW)).toThrow(SealError);
      const cut = bytes.subarray(0, at).toString('base64url');
      expect(() => box.open(`${version}.${name}.${cut}`, ROW)).toThrow(SealError);
    }
  });

  it.each(['', 'v1', 'v2.aaaaaaaa.AAAA', 'JBSWY3DPEHPK3PXP'])('cannot be %j', (text) => {
    expect(() => box.open(text, ROW)).toThrow('This is no sealed secret');
  });
});

describe('the key of an installation', () => {
  it('is 32 bytes in Base64 of either alphabet, with or without padding', () => {
    const text = newSecretsKey();
    const key = Buffer.from(text, 'base64');
    expect(key).toHaveLength(32);
    expect(parseSecretsKey(`${text}\n`)).toEqual(key);
    expect(parseSecretsKey(key.toString('base64url'))).toEqual(key);
  });

  it.each(['', 'short', 'x'.repeat(64), 'a'.repeat(32), `${'A'.repeat(42)}=`, '!'.repeat(43)])(
    'cannot be %j',
    (text) => {
      expect(parseSecretsKey(text)).toBeNull();
    },
  );

  it('derives a fixed key per purpose', () => {
    expect(keyFor('known-browsers', 'secret')).toEqual(keyFor('known-browsers', 'secret'));
    expect(keyFor('known-browsers', 'secret')).not.toEqual(keyFor('webhooks', 'secret'));
    expect(keyFor('known-browsers', 'secret')).not.toEqual(keyFor('known-browsers', 'other'));
    expect(box.keyFor('webhooks')).toEqual(box.keyFor('webhooks'));
    expect(box.keyFor('webhooks')).not.toEqual(box.keyFor('known-browsers'));
    expect(box.keyFor('webhooks')).not.toEqual(new SecretBox(randomBytes(32)).keyFor('webhooks'));
  });
});
