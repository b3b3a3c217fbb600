/** Signs a webhook as Standard Webhooks 1.0 says: over its id, the time of the attempt and the bytes of its body. */
import { createHmac, sign, type KeyObject } from 'node:crypto';

const MS_PER_SECOND = 1_000;
/** Nothing that could end the id in the signed content, or the field that it is sent in. */
const ID = /^[\w-]{1,128}$/;

/** SigningKeys are those of an endpoint: the current ones first, and behind them the ones of before, in an overlap. */
export interface SigningKeys {
  /** Each gives a signature `v1`. */
  readonly secrets: readonly Buffer[];
  /** Each gives a signature `v1a`. */
  readonly privateKeys: readonly KeyObject[];
  /** When the first of them ends, and the others are to be opened without it; undefined: none does. */
  readonly endsAtMs?: number | undefined;
}

/** The three fields of a webhook. */
export interface SignatureFields {
  readonly 'webhook-id': string;
  /** Whole seconds of the attempt, not of the event: receivers refuse what is five minutes old. */
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/**
 * The fields that an attempt is sent with.
 * @param id of the event: the same in every attempt, and what receivers tell repetitions by.
 * @param body as it is sent, byte for byte.
 * @throws where there is no key at all, or the id is not one.
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
