/** Builds URLs as clients see them. The gateway sends the public prefix and host in the `X-Forwarded-*` headers. */
import type { IncomingHttpHeaders } from 'node:http';

const PREFIX = /^(\/[\w.~-]+)+$/;
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;

/**
 * Returns the public URL of a path, with the forwarded prefix. The URL is absolute only if host and scheme were
 * forwarded. Invalid headers are ignored.
 */
export function publicUrl(headers: IncomingHttpHeaders, path: string): string {
  const prefix = first(headers['x-forwarded-prefix']);
  const host = first(headers['x-forwarded-host']);
  const scheme = first(headers['x-forwarded-proto']);
  const origin = HOST.test(host) && (scheme === 'http' || scheme === 'https') ? `${scheme}://${host}` : '';
  return `${origin}${PREFIX.test(prefix) ? prefix : ''}${path}`;
}

/**
 * Returns the first value of a list. Each proxy appends its value, so the first value describes the client's own
 * request.
 */
function first(value: string | string[] | undefined): string {
  const text = Array.isArray(value) ? (value[0] ?? '') : (value ?? '');
  return (text.split(',')[0] ?? '').trim();
}
