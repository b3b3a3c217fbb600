/** Where people reach the admin listener: its origin, as cookies, links and passkeys need it. */
import type { AdminConfig } from './admin-schema.js';

/**
 * Gives the origin of the admin listener, without a trailing slash: `admin.url`, else `http://localhost:<port>`, since
 * browsers take neither passkeys nor, all of them, secure cookies from `http://127.0.0.1`.
 * @param port The port really bound, where it differs from the file's (0 means any free port).
 */
export function adminUrlOf(
  { url, tls, port: wanted }: Pick<AdminConfig, 'url' | 'tls' | 'port'>,
  port = wanted,
): string {
  if (url !== undefined) return url;
  const isDefaultPort = port === (tls === undefined ? 80 : 443);
  return `${tls === undefined ? 'http' : 'https'}://localhost${isDefaultPort ? '' : `:${port}`}`;
}
