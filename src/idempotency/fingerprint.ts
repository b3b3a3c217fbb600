/** What makes a request the same as another one, as digests: nothing is kept that a request could be read from. */
import { hash } from 'node:crypto';
import type { RecordName } from './record.js';

/** The digest of all but the body. @param url path and query, as received. */
export function fingerprintOf(method: string, url: string, contentType: string | undefined): string {
  return hash('sha256', JSON.stringify([method, url, contentType ?? null]), 'base64url');
}

/** The name of the record of a request. */
export function recordName(caller: string, key: string): RecordName {
  return { caller, keyHash: hash('sha256', key, 'base64url') };
}
