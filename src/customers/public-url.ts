/** Builds URLs as clients see them. Behind a gateway, prefix and host come from the `X-Forwarded-*` headers. */
import type { IncomingHttpHeaders } from 'node:http';

const PREFIX = /^(\/[\w.~-]+)+$/;
const HOST = /^([\w.-]+|\[[\da-f:.]+\])(:\d{1,5})?$/i;

/**
 * Returns the URL of a path as the client sees it: with the forwarded prefix, and absolute if host and scheme were
 * forwarded. Invalid headers are ignored.
 */
export function publicUrl(headers: IncomingHttpHeaders, path: string): string {
  const prefix = first(headers['x-forwarded-prefix']);
  const host = first(headers['x-forwarded-host']);
  const scheme = first(headers['x-forwarded-proto']);
  const origin = HOST.test(host) && (scheme === 'http' || scheme === 'https') ? `${scheme}://${host}` : '';
  return `${origin}${PREFIX.test(prefix) ? prefix : ''}${path}`;
}

/** Returns the first value of a list. Proxies append to the list, so the first value is that of the client. */
function first(value: string | string[] | undefined): string {
  const text = Array.isArray(value) ? (value[0] ?? '') : (value ?? '');
  return (text.split(',')[0] ?? '').trim();
}
