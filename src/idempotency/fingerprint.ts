/** Computes digests that identify a request, so that the store does not contain the request itself. */
import { hash } from 'node:crypto';
import type { RecordName } from './record.js';

/**
 * Returns the digest of a request without its body.
 * @param url path and query, as received.
 */
export function fingerprintOf(method: string, url: string, contentType: string | undefined): string {
  return hash('sha256', JSON.stringify([method, url, contentType ?? null]), 'base64url');
}

/**
 * Returns the name of a record.
 * @param caller ID of the API key, or actor of the admin API.
 * @param key value of `Idempotency-Key`.
 */
export function recordName(caller: string, key: string): RecordName {
  return { caller, keyHash: hash('sha256', key, 'base64url') };
}
