/** Signs webhooks according to Standard Webhooks 1.0: over ID, time of the attempt and body. */
import { createHmac, sign, type KeyObject } from 'node:crypto';

const MS_PER_SECOND = 1_000;
/** Characters that cannot end the ID in the signed content or in the header field. */
const ID = /^[\w-]{1,128}$/;

/** SigningKeys are the active keys of an endpoint: the current ones first, then previous ones during an overlap. */
export interface SigningKeys {
  /** Keys for `v1` signatures. */
  readonly secrets: readonly Buffer[];
  /** Keys for `v1a` signatures. */
  readonly privateKeys: readonly KeyObject[];
  /** Time at which the first of them expires and the keys must be reloaded; undefined if none does. */
  readonly endsAtMs?: number | undefined;
}

/** The three header fields of a webhook. */
export interface SignatureFields {
  readonly 'webhook-id': string;
  /** Time of the attempt in seconds, not of the event. Receivers reject timestamps older than five minutes. */
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * Returns the signature fields of an attempt.
 * @param id event ID, the same in every attempt. Receivers use it to detect duplicates.
 * @param body the exact bytes that are sent.
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
