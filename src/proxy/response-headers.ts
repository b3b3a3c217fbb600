/** What a client receives of a backend's fields: the end-to-end ones, but for those that only we may set. */
import type { IncomingHttpHeaders } from 'node:http';
import { QUOTA_FIELDS } from '../quotas/headers.js';
import { HOP_BY_HOP_FIELDS, IDENTITY_FIELDS } from './connection-fields.js';

/** Hop-by-hop fields (RFC 9110 section 7.6.1) and our own. */
const NEVER_PASSED: ReadonlySet<string> = new Set([...HOP_BY_HOP_FIELDS, ...IDENTITY_FIELDS, 'via', ...QUOTA_FIELDS]);

/**
 * Appends the fields of a backend's answer to `out`, flat: name, value, name, value.
 * @param headers as undici parsed them: lower-case names, several fields of one name as an array.
 */
export function appendBackendResponseHeaders(out: (string | string[])[], headers: Readonly<IncomingHttpHeaders>): void {
  const connection = headers.connection;
  const named =
    connection === undefined || connection === 'keep-alive' || connection === 'close'
      ? undefined
      : String(connection)
          .split(',')
          .map((token) => token.trim().toLowerCase());
  for (const name in headers) {
    if (NEVER_PASSED.has(name) || named?.includes(name) === true) continue;
    const value = headers[name];
    if (value === undefined) continue;
    if (typeof value === 'string') out.push(name, value);
    else for (const one of value) out.push(name, one);
  }
}
