/**
 * What a client says of itself, in a registration (RFC 7591) or in the document that its id leads to. What nobody has
 * checked is held to what it is needed for: a name to be shown, and where a code may be sent.
 */
import { z } from 'zod';
import '../platform/problems/plain-words.js';
import type { StoredPayload } from './clients/oauth-objects.js';

const MOST_REDIRECTS = 10;
/** What the library takes for this machine, and with any port (RFC 8252 section 7.3). */
const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);
/** A scheme that an application has made of a name of its own, `com.example.app:` (RFC 8252 section 7.1). */
const SCHEME_OF_A_NAME = /^[a-z][a-z\d+-]*(?:\.[a-z\d+-]+)+:$/;
/** Schemes of assistants and editors without such a name. Any other may be one that the system or a browser acts on. */
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

/** HTTPS, plain HTTP on the client's own machine, or a scheme of an application (RFC 8252 section 7). */
const redirectUri = z
  .string()
  .max(2_000)
  .refine(
    (text) => isRedirect(text),
    'must be https:, http: of this machine, or the scheme of an application such as com.example.app:, ' +
      'without a fragment',
  );

/** Checks it. What is not named here is left out: it changes nothing. */
export const clientMetadata = z.object({
  redirect_uris: z
    .array(redirectUri)
    .min(1)
    .max(MOST_REDIRECTS)
    .refine(
      (uris) => !isNative(uris) || !uris.some((uri) => isHttpsOfLoopback(uri)),
      'https: of this machine cannot stand beside http: or the scheme of an application',
    ),
  client_name: z.string().trim().min(1).max(200).optional(),
  token_endpoint_auth_method: z.string().max(100).optional(),
});

/** ClientMetadata is what was checked. */
export type ClientMetadata = z.output<typeof clientMetadata>;

/** What the authorization server knows a client by: public, with a code and refresh tokens. */
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

/** Where an address leads, for people: a host, or a scheme where there is none. */
export function placeOf(uri: string): string {
  const url = URL.parse(uri);
  if (url === null) return '';
  return url.host === '' || !/^https?:$/.test(url.protocol) ? url.protocol : url.host;
}

/** Reports whether a redirect address leads to a program on the browser's own machine. */
export function isOfOwnMachine(uri: string): boolean {
  const url = URL.parse(uri);
  return url !== null && (url.protocol !== 'https:' || LOOPBACK_HOSTS.has(url.hostname));
}

/** Without what turns the direction of a line, hides or breaks it: the name stands in a question to a person. */
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
  return SCHEME_OF_A_NAME.test(protocol) || APPLICATION_SCHEMES.has(protocol);
}

/** A client that has addresses of both kinds, as Cursor and VS Code, is a program all the same. */
function isNative(uris: readonly string[]): boolean {
  return uris.some((uri) => URL.parse(uri)?.protocol !== 'https:');
}

function isHttpsOfLoopback(uri: string): boolean {
  const url = URL.parse(uri);
  return url?.protocol === 'https:' && LOOPBACK_HOSTS.has(url.hostname);
}
