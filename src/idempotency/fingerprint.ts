/**
 * Computes the digests that identify a request and its key. The store contains only these digests, not the originals.
 */
import { hash } from 'node:crypto';
import type { RecordName } from './record.js';

/**
 * Returns the SHA-256 of a request without its body, in base64url.
 * @param url path and query, as received.
 */
export function fingerprintOf(method: string, url: string, contentType: string | undefined): string {
  return hash('sha256', JSON.stringify([method, url, contentType ?? null]), 'base64url');
}

/**
 * Returns the name of the record for a key of a caller.
 * @param caller ID of the API key, or actor of the admin API.
 * @param key value of `Idempotency-Key`.
 */
export function recordName(caller: string, key: string): RecordName {
  return { caller, keyHash: hash('sha256', key, 'base64url') };
}
