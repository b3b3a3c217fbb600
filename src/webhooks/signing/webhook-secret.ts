/**
 * Webhook secrets in the format of Standard Webhooks 1.0: `whsec_` for shared secrets, `whsk_` and `whpk_` for key
 * pairs. Each endpoint has its own. With a common key, one receiver could forge webhooks for another.
 */
import { createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
const PUBLIC_PREFIX = 'whpk_';
const FEWEST_BYTES = 24;
const MOST_BYTES = 64;
const NEW_SECRET_BYTES = 32;
const SEED_BYTES = 32;
/** DER prefix of a 32-byte Ed25519 key (RFC 8410). */
const PRIVATE_DER = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_DER_BYTES = 12;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Default overlap during which everything is signed with both secrets. */
export const SECRET_OVERLAP_MS = 24 * 3_600_000;

/** Generates a shared secret as bytes. */
export function newWebhookSecret(): Buffer {
  return randomBytes(NEW_SECRET_BYTES);
}

/** Formats a secret for receivers. */
export function formatWebhookSecret(secret: Buffer): string {
  return `${SECRET_PREFIX}${secret.toString('base64')}`;
}

/** Parses a supplied secret: 24 to 64 bytes in base64 after `whsec_`. Returns null if it is invalid. */
export function parseWebhookSecret(text: string): Buffer | null {
  if (!text.startsWith(SECRET_PREFIX)) return null;
  const encoded = text.slice(SECRET_PREFIX.length);
  if (!BASE64.test(encoded)) return null;
  const secret = Buffer.from(encoded, 'base64');
  // Rejects non-canonical base64, which a receiver might decode differently.
  const isWhole = secret.toString('base64').replaceAll('=', '') === encoded.replaceAll('=', '');
  return isWhole && secret.length >= FEWEST_BYTES && secret.length <= MOST_BYTES ? secret : null;
}

/** Generates the seed of an Ed25519 key pair, which is stored encrypted. */
export function newSigningSeed(): Buffer {
  return randomBytes(SEED_BYTES);
}

/** Returns the private key for `v1a` signatures. Cache it: deriving it takes longer than a signature. */
export function privateKeyOf(seed: Buffer): KeyObject {
  if (seed.length !== SEED_BYTES) throw new Error(`a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  return createPrivateKey({ key: Buffer.concat([PRIVATE_DER, seed]), format: 'der', type: 'pkcs8' });
}

/** Formats the public key for receivers. */
export function formatPublicKey(privateKey: KeyObject): string {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return `${PUBLIC_PREFIX}${der.subarray(PUBLIC_DER_BYTES).toString('base64')}`;
}
