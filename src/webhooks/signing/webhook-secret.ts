/**
 * Creates and formats webhook secrets as in Standard Webhooks 1.0: `whsec_` for shared secrets, and `whpk_` for the
 * public keys of key pairs. Each endpoint has its own keys. With a common key, one receiver could forge webhooks to
 * another.
 */
import { createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';

const SECRET_PREFIX = 'whsec_';
const PUBLIC_PREFIX = 'whpk_';
/** Limits for the length of a shared secret in bytes. */
const FEWEST_BYTES = 24;
const MAX_BYTES = 64;
const NEW_SECRET_BYTES = 32;
const SEED_BYTES = 32;
/** DER prefix of a 32-byte Ed25519 private key (RFC 8410). */
const PRIVATE_DER_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Length of the DER prefix of an Ed25519 public key. */
const PUBLIC_DER_PREFIX_BYTES = 12;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** Default overlap of a rotation. Until its end, webhooks are signed with the new and the previous secrets. */
export const SECRET_OVERLAP_MS = 24 * 3_600_000;

/** Generates a random shared secret. */
export function newWebhookSecret(): Buffer {
  return randomBytes(NEW_SECRET_BYTES);
}

/** Formats a shared secret for receivers: `whsec_` and base64. */
export function formatWebhookSecret(secret: Buffer): string {
  return `${SECRET_PREFIX}${secret.toString('base64')}`;
}

/** Parses a shared secret: `whsec_`, then 24 to 64 bytes in base64. Returns null if the text is invalid. */
export function parseWebhookSecret(text: string): Buffer | null {
  if (!text.startsWith(SECRET_PREFIX)) return null;
  const encoded = text.slice(SECRET_PREFIX.length);
  if (!BASE64.test(encoded)) return null;
  const secret = Buffer.from(encoded, 'base64');
  // Reject non-canonical base64, because a receiver might decode it differently.
  const isCanonical = secret.toString('base64').replaceAll('=', '') === encoded.replaceAll('=', '');
  return isCanonical && secret.length >= FEWEST_BYTES && secret.length <= MAX_BYTES ? secret : null;
}

/** Generates the seed of an Ed25519 key pair, which is stored encrypted. */
export function newSigningSeed(): Buffer {
  return randomBytes(SEED_BYTES);
}

/**
 * Derives the private key for `v1a` signatures. Cache the key, because deriving it takes longer than signing.
 * @throws Error for a seed of the wrong length.
 */
export function privateKeyOf(seed: Buffer): KeyObject {
  if (seed.length !== SEED_BYTES) throw new Error(`a seed has ${SEED_BYTES} bytes, not ${seed.length}`);
  return createPrivateKey({ key: Buffer.concat([PRIVATE_DER_PREFIX, seed]), format: 'der', type: 'pkcs8' });
}

/** Formats the public key of a private key for receivers: `whpk_` and base64. */
export function formatPublicKey(privateKey: KeyObject): string {
  const der = createPublicKey(privateKey).export({ format: 'der', type: 'spki' });
  return `${PUBLIC_PREFIX}${der.subarray(PUBLIC_DER_PREFIX_BYTES).toString('base64')}`;
}
