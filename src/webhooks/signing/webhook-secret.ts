/**
 * The secrets that webhooks are signed with, as Standard Webhooks 1.0 writes them: `whsec_` for what sender and
 * receiver share, `whsk_` and `whpk_` for the two halves of a key pair. Each endpoint has its own: with a key that
 * several have, one of them could send the others what it was sent.
 */
import { createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
const PUBLIC_PREFIX = 'whpk_';
const FEWEST_BYTES = 24;
const MOST_BYTES = 64;
const NEW_SECRET_BYTES = 32;
const SEED_BYTES = 32;
/** What stands before the 32 bytes of a key in DER (RFC 8410). */
const PRIVATE_DER = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_DER_BYTES = 12;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** How long a receiver has to take over a new secret: so long everything is signed with both. */
export const SECRET_OVERLAP_MS = 24 * 3_600_000;

/** Makes a secret that receiver and sender share, as its bytes. */
export function newWebhookSecret(): Buffer {
  return randomBytes(NEW_SECRET_BYTES);
}

/** Writes a secret as receivers are given it. */
export function formatWebhookSecret(secret: Buffer): string {
  return `${SECRET_PREFIX}${secret.toString('base64')}`;
}

/** Reads a secret that somebody brings: 24 to 64 bytes in base64 behind `whsec_`. Null where it is none. */
export function parseWebhookSecret(text: string): Buffer | null {
  if (!text.startsWith(SECRET_PREFIX)) return null;
  const encoded = text.slice(SECRET_PREFIX.length);
  if (!BASE64.test(encoded)) return null;
  const secret = Buffer.from(encoded, 'base64');
  // Another spelling of the same bytes is not what a receiver compares with.
  const isWhole = secret.toString('base64').replaceAll('=', '') === encoded.replaceAll('=', '');
  return isWhole && secret.length >= FEWEST_BYTES && secret.length <= MOST_BYTES ? secret : null;
}

/** Makes the seed of an ed25519 key pair: what is kept of it, sealed. */
export function newSigningSeed(): Buffer {
  return randomBytes(SEED_BYTES);
}

/** The key that signs `v1a`, of its seed. To be kept while it is used: making it takes longer than a signature. */
export function privateKeyOf(seed: Buffer): KeyObject {
  if (seed.length !== SEED_BYTES) throw new Error(`a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  return createPrivateKey({ key: Buffer.concat([PRIVATE_DER, seed]), format: 'der', type: 'pkcs8' });
}

/** The public half of a key, as receivers are given it. */
export function formatPublicKey(privateKey: KeyObject): string {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return `${PUBLIC_PREFIX}${der.subarray(PUBLIC_DER_BYTES).toString('base64')}`;
}
