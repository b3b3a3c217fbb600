/** What the panel's page may load and where it may send: nothing that does not come from this listener. */

/**
 * The policy of one response. The nonce opens `style-src` for the style tags that Mantine makes; there is none for
 * scripts, so that text which got into the page cannot become one.
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
