/** Public origin of the admin listener, for cookies, links and passkeys. */
import type { AdminConfig } from './admin-schema.js';

/**
 * Returns the origin without a trailing slash: `admin.url`, or `http://localhost:<port>`. Browsers accept no passkeys
 * for `http://127.0.0.1`, and some accept no secure cookies.
 * @param port the bound port, if it differs from the file's (0 means any free port)
 */
export function adminUrlOf(
  { url, tls, port: wanted }: Pick<AdminConfig, 'url' | 'tls' | 'port'>,
  port = wanted,
): string {
  if (url !== undefined) return url;
  const isDefaultPort = port === (tls === undefined ? 80 : 443);
  return `${tls === undefined ? 'http' : 'https'}://localhost${isDefaultPort ? '' : `:${port}`}`;
}
