/**
 * Fields behind a body (RFC 9110 section 6.5). A backend's are passed to clients that say that they take them;
 * nothing that has to be known before the body, or that only we may set, can come this way. A request's are
 * dropped, which section 6.5.1 allows.
 */
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsByName, fieldsOfLines, listMembers } from '../../http/grammar/fields.js';
import { NEVER_PASSED } from './response-headers.js';

/** What frames, routes, authenticates, describes the body, or is acted on before the body has been read. */
const BEFORE_THE_BODY: ReadonlySet<string> = new Set([
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

/** Whether the client takes trailers (RFC 9110 section 10.1.4); HTTP/1.0 has none. */
export function takesTrailers({ headers: { te }, httpVersion }: ClientMessage): boolean {
  return te !== undefined && httpVersion !== '1.0' && TRAILERS.test(String(te));
}

/**
 * The trailers among a backend's that may be passed on; undefined where there are none.
 * @param text their lines, each with its CRLF. @throws Error `TRAILGATE_BAD_ANSWER` where they are no fields.
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

/** The names of a `Trailer` field that may come; empty where none may. */
export function passableNames(field: string): string {
  return listMembers(field)
    .filter((name) => isPassable(name.toLowerCase()))
    .join(', ');
}

function isPassable(name: string): boolean {
  return !NEVER_PASSED.has(name) && !BEFORE_THE_BODY.has(name) && !name.startsWith('access-control-');
}
