/** Addresses as the client sees them: behind a gateway, path prefix and host come from the `X-Forwarded-*` headers. */
import type { IncomingHttpHeaders } from 'node:http';

const PREFIX = /^(\/[\w.~-]+)+$/;
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;

/**
 * The address of `path` for the client: with the forwarded prefix, and absolute where host and scheme were forwarded
 * too. Values that could not be part of a URL are left out rather than copied.
 */
export function publicUrl(headers: IncomingHttpHeaders, path: string): string {
  const prefix = first(headers['x-forwarded-prefix']);
  const host = first(headers['x-forwarded-host']);
  const scheme = first(headers['x-forwarded-proto']);
  const origin = HOST.test(host) && (scheme === 'http' || scheme === 'https') ? `${scheme}://${host}` : '';
  return `${origin}${PREFIX.test(prefix) ? prefix : ''}${path}`;
}

/** A list of proxies appends; the first value is the client's side. */
function first(value: string | string[] | undefined): string {
  const text = Array.isArray(value) ? (value[0] ?? '') : (value ?? '');
  return (text.split(',')[0] ?? '').trim();
}
