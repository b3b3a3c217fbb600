/** Determines the public origin of the admin listener, for cookies, links and passkeys. */
import type { AdminConfig } from './admin-schema.js';

/**
 * Returns the origin without a trailing slash, which is `admin.url` or `http://localhost:<port>` (`https` with TLS).
 * The default host is not 127.0.0.1, because browsers accept no passkeys for IP addresses. Some also accept no secure
 * cookies.
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
