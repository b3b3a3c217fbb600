/**
 * Selects the backend's trailer fields (RFC 9110 section 6.5) for clients that accept trailers. Drops fields that must
 * be known before the body, and fields that only the gateway sets. Request trailers are never forwarded (section
 * 6.5.1).
 */
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsByName, fieldsOfLines, listMembers } from '../../http/grammar/fields.js';
import { NEVER_PASSED } from './response-headers.js';

/**
 * Fields that are not permitted as trailers: framing, routing, authentication, content description, and fields that
 * take effect before the body is read.
 */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  'age',
  'allow',
  'authorization',
  'cache-control',
  'clear-site-data',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-security-policy',
  'content-type',
  'date',
  'expect',
  'expires',
  'host',
  'last-modified',
  'location',
  'pragma',
  'range',
  'refresh',
  'set-cookie',
  'strict-transport-security',
  'vary',
  'via',
  'www-authenticate',
  'x-content-type-options',
]);
const TRAILERS = /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i;

/** Reports whether the client accepts trailers (RFC 9110 section 10.1.4). HTTP/1.0 has no trailers. */
export function takesTrailers({ headers: { te }, httpVersion }: ClientMessage): boolean {
  return te !== undefined && httpVersion !== '1.0' && TRAILERS.test(String(te));
}

/**
 * Returns the permitted trailers of a backend by name, or undefined if there are none.
 * @param text trailer field lines, each with its CRLF.
 * @throws Error `TRAILGATE_BAD_ANSWER` for invalid lines.
 */
export function passableTrailers(text: string): Record<string, string> | undefined {
  let passed: Record<string, string> | undefined;
  for (const [name, value] of Object.entries(fieldsByName(fieldsOfLines(text)))) {
    if (value === undefined || !isPassable(name)) continue;
    passed ??= {};
    passed[name] = String(value);
  }
  return passed;
}

/** Returns the permitted names of a `Trailer` field, separated by commas; empty if there are none. */
export function passableNames(field: string): string {
  return listMembers(field)
    .filter((name) => isPassable(name.toLowerCase()))
    .join(', ');
}

function isPassable(name: string): boolean {
  return !NEVER_PASSED.has(name) && !NOT_IN_TRAILERS.has(name) && !name.startsWith('access-control-');
}
