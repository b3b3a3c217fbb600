/**
 * Builds the content security policy of the panel's page. The page can load from and send to the admin listener only.
 */

/**
 * Returns the policy of one response. The nonce allows the style tags that Mantine creates. Scripts have no nonce, so
 * injected text can never run as a script.
 */
export function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
}
