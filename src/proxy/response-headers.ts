/** What a client receives of a backend's fields: the end-to-end ones, but for those that only we may set. */
import type { IncomingHttpHeaders } from 'node:http';
import { QUOTA_FIELDS } from '../quotas/headers.js';
import { HOP_BY_HOP_FIELDS, IDENTITY_FIELDS } from './connection-fields.js';

/** Hop-by-hop fields (RFC 9110 section 7.6.1) and our own. */
export const NEVER_PASSED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_FIELDS,
  ...IDENTITY_FIELDS,
  'via',
  ...QUOTA_FIELDS,
]);

/** Where the gateway answers for cross-origin requests, what a backend says of them would contradict it. */
const NEVER_PASSED_WITH_CORS: ReadonlySet<string> = new Set([
  ...NEVER_PASSED,
  'access-control-allow-origin',
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-private-network',
  'access-control-expose-headers',
  'access-control-max-age',
]);

/**
 * Appends the fields of a backend's answer to `out`, flat: name, value, name, value.
 * @param headers as undici parsed them: lower-case names, several fields of one name as an array.
 * @param ownCors whether the gateway writes the fields of CORS itself.
 */
export function appendBackendResponseHeaders(
  out: (string | string[])[],
  headers: Readonly<IncomingHttpHeaders>,
  ownCors = false,
): void {
  const neverPassed = ownCors ? NEVER_PASSED_WITH_CORS : NEVER_PASSED;
  const connection = headers.connection;
  const named =
    connection === undefined || connection === 'keep-alive' || connection === 'close'
      ? undefined
      : String(connection)
          .split(',')
          .map((token) => token.trim().toLowerCase());
  for (const name in headers) {
    if (neverPassed.has(name) || named?.includes(name) === true) continue;
    const value = headers[name];
    if (value === undefined) continue;
    if (typeof value === 'string') out.push(name, value);
    else for (const one of value) out.push(name, one);
  }
}
