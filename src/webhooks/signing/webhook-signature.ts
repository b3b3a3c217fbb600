/** Signs webhooks as in Standard Webhooks 1.0. A signature covers event ID, time of the attempt, and body. */
import { createHmac, sign, type KeyObject } from 'node:crypto';

const MS_PER_SECOND = 1_000;
/** Format of IDs. Excludes characters that separate the parts of the signed content, or end a header field. */
const ID = /^[\w-]{1,128}$/;

/** SigningKeys are the active keys of an endpoint: the current keys first, then previous keys during an overlap. */
export interface SigningKeys {
  /** Keys for `v1` signatures (HMAC-SHA256). */
  readonly secrets: readonly Buffer[];
  /** Keys for `v1a` signatures (Ed25519). */
  readonly privateKeys: readonly KeyObject[];
  /** Time at which the first key expires, and the keys must be reloaded; undefined if no key expires. */
  readonly endsAtMs?: number | undefined;
}

/** The three signature header fields of a webhook. */
export interface SignatureFields {
  readonly 'webhook-id': string;
  /** Time of the attempt, not of the event, in seconds since the epoch. Receivers reject old timestamps. */
  readonly 'webhook-timestamp': string;
  /** Signatures with all keys, separated by spaces. */
  readonly 'webhook-signature': string;
}

/**
 * Returns the signature fields of an attempt.
 * @param id event ID. Every attempt has the same ID, so that receivers can detect duplicates.
 * @param body the exact bytes of the body.
 * @throws Error without a key, or if the ID is invalid.
 */
export function signatureFields(id: string, attemptedAtMs: number, body: Buffer, keys: SigningKeys): SignatureFields {
  if (!ID.test(id)) throw new Error('the id of a webhook has letters, digits, _ and - only');
  const timestamp = String(Math.floor(attemptedAtMs / MS_PER_SECOND));
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const shared = keys.secrets.map((secret) => `v1,${createHmac('sha256', secret).update(content).digest('base64')}`);
  const asymmetric = keys.privateKeys.map((key) => `v1a,${sign(null, content, key).toString('base64')}`);
  const signatures = [...shared, ...asymmetric];
  if (signatures.length === 0) throw new Error('a webhook is never sent unsigned');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
