/** Webhook signatures equal those of the specification byte for byte, and verify nothing else. */
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import {
  formatPublicKey,
  formatWebhookSecret,
  newSigningSeed,
  newWebhookSecret,
  parseWebhookSecret,
  privateKeyOf,
} from './webhook-secret.js';
import { signatureFields, type SigningKeys } from './webhook-signature.js';

const ID = 'msg_p5jXN8AQM9LWM0D4loKWxJek';
const AT_MS = 1_614_265_330_000;
const BODY = Buffer.from('{"test": 2432232314}');
/** Test vectors of the specification's libraries and of Svix's server. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const V1 = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
const KEY_PAIR = Buffer.from(
  '6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==',
  'base64',
);
const V1A = 'v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==';

const secret = parseWebhookSecret(SECRET) ?? Buffer.alloc(0);
const privateKey = privateKeyOf(KEY_PAIR.subarray(0, 32));
const keys = (parts: Partial<SigningKeys>): SigningKeys => ({ secrets: [], privateKeys: [], ...parts });
const signatureOf = (parts: Partial<SigningKeys>, body = BODY, id = ID, atMs = AT_MS) =>
  signatureFields(id, atMs, body, keys(parts))['webhook-signature'];

/** A receiver's verification, written from the specification alone. */
function isGenuine(fields: Record<string, string>, body: Buffer, sharedSecret: string, publicKey: string): boolean {
  const content = `${fields['webhook-id']}.${fields['webhook-timestamp']}.${body.toString()}`;
  const der = Buffer.concat([
    Buffer.from('302a300506032b6570032100', 'hex'),
    Buffer.from(publicKey.slice(5), 'base64'),
  ]);
  const signatures = (fields['webhook-signature'] ?? '').split(' ').map((signature) => signature.split(','));
  return signatures.every(([version, text = '']) => {
    const given = Buffer.from(text, 'base64');
    if (version === 'v1a')
      return verify(null, Buffer.from(content), createPublicKey({ key: der, format: 'der', type: 'spki' }), given);
    const expected = createHmac('sha256', Buffer.from(sharedSecret.slice(6), 'base64'))
      .update(content)
      .digest();
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
}

describe('the signature of a webhook', () => {
  it('equals the vectors of the specification, for a shared secret and a key pair', () => {
    expect(signatureFields(ID, AT_MS + 999, BODY, keys({ secrets: [secret] }))).toEqual({
      'webhook-id': ID,
      'webhook-timestamp': '1614265330',
      'webhook-signature': V1,
    });
    expect(signatureOf({ privateKeys: [privateKey] })).toBe(V1A);
    expect(signatureOf({ secrets: [secret], privateKeys: [privateKey] })).toBe(`${V1} ${V1A}`);
  });

  it('differs for every other ID, second, body and key', () => {
    const parts = { secrets: [secret], privateKeys: [privateKey] };
    const others = [
      signatureOf(parts, Buffer.from('{"test": 2432232315}')),
      signatureOf(parts, Buffer.from('{"test":2432232314}')),
      signatureOf(parts, BODY, `${ID}x`),
      signatureOf(parts, BODY, ID, AT_MS + 1_000),
      signatureOf({ secrets: [newWebhookSecret()], privateKeys: [privateKeyOf(newSigningSeed())] }),
    ].flatMap((signatures) => signatures.split(' '));
    expect(new Set(others).size).toBe(10);
    expect(others).not.toContain(V1);
    expect(others).not.toContain(V1A);
  });

  it('has one part for each key during a rotation, the current key first', () => {
    const successor = newWebhookSecret();
    const signatures = signatureOf({ secrets: [successor, secret], privateKeys: [privateKey] }).split(' ');
    expect(signatures).toHaveLength(3);
    expect(signatures[0]).toBe(signatureOf({ secrets: [successor] }));
    expect(signatures.slice(1)).toEqual([V1, V1A]);
  });

  it('covers the exact bytes that are sent', () => {
    const publicKey = formatPublicKey(privateKey);
    for (const body of ['', '{}', '{"name":"Añá 🚣"}', '.', '1.2.3', '\n']) {
      const bytes = Buffer.from(body);
      const fields = { ...signatureFields(ID, AT_MS, bytes, keys({ secrets: [secret], privateKeys: [privateKey] })) };
      expect(isGenuine(fields, bytes, SECRET, publicKey)).toBe(true);
      expect(isGenuine(fields, Buffer.from(`${body} `), SECRET, publicKey)).toBe(false);
      expect(isGenuine({ ...fields, 'webhook-id': 'msg_other' }, bytes, SECRET, publicKey)).toBe(false);
      expect(isGenuine({ ...fields, 'webhook-timestamp': '1614265331' }, bytes, SECRET, publicKey)).toBe(false);
    }
  });

  it('is never omitted', () => {
    expect(() => signatureOf({})).toThrow('never sent unsigned');
  });

  it.each(['', 'a.b', 'msg 1', 'msg\r\nx: y', 'é', 'x'.repeat(129)])('is not created for the ID %j', (id) => {
    expect(() => signatureOf({ secrets: [secret] }, BODY, id)).toThrow('id of a webhook');
  });
});

describe('a secret', () => {
  it('is 32 random bytes, and parses back to the same bytes', () => {
    const made = newWebhookSecret();
    const text = formatWebhookSecret(made);
    expect(text).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(parseWebhookSecret(text)).toEqual(made);
    expect(newWebhookSecret()).not.toEqual(made);
  });

  it('from a user has 24 to 64 bytes', () => {
    const of = (bytes: number) => parseWebhookSecret(`whsec_${Buffer.alloc(bytes, 7).toString('base64')}`)?.length;
    expect([23, 24, 64, 65].map(of)).toEqual([undefined, 24, 64, undefined]);
  });

  it.each([
    '',
    'whsec_',
    SECRET.slice(6),
    SECRET.replace('whsec_', 'whsk_'),
    SECRET.replace('whsec_', 'WHSEC_'),
    ` ${SECRET}`,
    `${SECRET}\n`,
    SECRET.replace('M', '-'),
    `${SECRET.slice(0, -1)}`,
    `whsec_${Buffer.alloc(25, 7).toString('base64').replace('w==', 'x==')}`,
  ])('cannot be %j', (text) => {
    expect(parseWebhookSecret(text)).toBeNull();
  });

  it('of a key pair is a seed of 32 bytes, of which only the public key is shown', () => {
    expect(formatPublicKey(privateKey)).toBe(`whpk_${KEY_PAIR.subarray(32).toString('base64')}`);
    expect(() => privateKeyOf(KEY_PAIR)).toThrow('32 bytes');
    expect(newSigningSeed()).toHaveLength(32);
  });
});
