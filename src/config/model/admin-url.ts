/** Public origin of the admin listener, for cookies, links and passkeys. */
import type { AdminConfig } from './admin-schema.js';

/**
 * Returns the origin without a trailing slash: `admin.url`, or `http://localhost:<port>` (`https` with TLS). The host
 * is not 127.0.0.1, because browsers accept no passkeys there, and some accept no secure cookies.
 * @param port the bound port, if it differs from the port in the file (0 means any free port)
 */
export function adminUrlOf(
  { url, tls, port: configuredPort }: Pick<AdminConfig, 'url' | 'tls' | 'port'>,
  port = configuredPort,
): string {
  if (url !== undefined) return url;
  const isDefaultPort = port === (tls === undefined ? 80 : 443);
  return `${tls === undefined ? 'http' : 'https'}://localhost${isDefaultPort ? '' : `:${port}`}`;
}
