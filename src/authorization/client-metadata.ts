/**
 * Validates the metadata of OAuth clients, from a registration (RFC 7591) or a client ID metadata document. The
 * metadata is unverified, so only a display name and redirect URIs are accepted.
 */
import { z } from 'zod';
import '../platform/problems/plain-words.js';
import type { StoredPayload } from './clients/oauth-objects.js';

const MAX_REDIRECTS = 10;
/** Loopback hosts, to which the library allows redirects with any port (RFC 8252 section 7.3). */
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Private-use URI scheme based on a domain name, such as `com.example.app:` (RFC 8252 section 7.1). */
const DOMAIN_SCHEME = /^[a-z][a-z\d+-]*(?:\.[a-z\d+-]+)+:$/;
/**
 * Schemes of assistants and editors that are allowed although they are not based on a domain name. Other schemes
 * without a domain name are rejected, because the system or the browser could handle them.
 */
const APPLICATION_SCHEMES = new Set([
  'claude:',
  'cursor:',
  'goose:',
  'kiro:',
  'raycast:',
  'vscode:',
  'vscode-insiders:',
  'vscodium:',
  'warp:',
  'windsurf:',
  'zed:',
]);

/** Accepts HTTPS, HTTP on the loopback interface, and private-use schemes (RFC 8252 section 7). */
const redirectUri = z
  .string()
  .max(2_000)
  .refine(
    (text) => isRedirect(text),
    'must be https:, http: of this machine, or the scheme of an application such as com.example.app:, ' +
      'without a fragment',
  );

/** Validates client metadata. Unknown fields are dropped. */
export const clientMetadata = z.object({
  redirect_uris: z
    .array(redirectUri)
    .min(1)
    .max(MAX_REDIRECTS)
    .refine(
      (uris) => !isNative(uris) || !uris.some((uri) => isHttpsOfLoopback(uri)),
      'https: of this machine cannot stand beside http: or the scheme of an application',
    ),
  client_name: z.string().trim().min(1).max(200).optional(),
  token_endpoint_auth_method: z.string().max(100).optional(),
});

/** ClientMetadata is the validated metadata. */
export type ClientMetadata = z.output<typeof clientMetadata>;

/**
 * Returns the client's properties for the library. Every client is a public client with authorization codes and refresh
 * tokens.
 */
export function clientProperties(
  clientId: string,
  { redirect_uris: uris, client_name: name }: ClientMetadata,
): StoredPayload {
  return {
    client_id: clientId,
    client_name: shownName(name) ?? hostOf(clientId) ?? 'MCP client',
    redirect_uris: uris,
    application_type: isNative(uris) ? 'native' : 'web',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
  };
}

/**
 * Returns the host of a redirect URI for display, or the scheme if the URI has no host. Returns an empty text for an
 * invalid URI.
 */
export function placeOf(uri: string): string {
  const url = URL.parse(uri);
  if (url === null) return '';
  return url.host === '' || !/^https?:$/.test(url.protocol) ? url.protocol : url.host;
}

/** Reports whether a redirect URI leads to a program on the browser's own machine. */
export function isOfOwnMachine(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && (url.protocol !== 'https:' || LOOPBACK_HOSTS.has(url.hostname));
}

/**
 * Removes control, format and line separator characters from a name, because the consent page shows the name. Returns
 * at most 100 characters, or undefined if nothing remains.
 */
function shownName(name: string | undefined): string | undefined {
  const shown = name
    ?.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, 100);
  return shown === '' ? undefined : shown;
}

function hostOf(clientId: string): string | undefined {
  return URL.parse(clientId)?.host;
}

function isRedirect(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || text.includes('#') || /[\s\\]/.test(text) || url.username !== '' || url.password !== '')
    return false;
  const { protocol, hostname } = url;
  if (protocol === 'https:') return true;
  if (protocol === 'http:') return LOOPBACK_HOSTS.has(hostname);
  return DOMAIN_SCHEME.test(protocol) || APPLICATION_SCHEMES.has(protocol);
}

/**
 * Reports whether a client is native. A client is native if any redirect URI is not HTTPS, because Cursor and VS Code
 * register HTTPS URIs too.
 */
function isNative(uris: readonly string[]): boolean {
  return uris.some((uri) => URL.parse(uri)?.protocol !== 'https:');
}

function isHttpsOfLoopback(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'https:' && LOOPBACK_HOSTS.has(url.hostname);
}
