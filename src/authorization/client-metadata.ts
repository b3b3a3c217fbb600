/**
 * What a client says of itself, in a registration (RFC 7591) or in the document that its id leads to. What nobody has
 * checked is held to what it is needed for: a name to be shown, and where a code may be sent.
 */
import { z } from 'zod';
import { isLoopbackHost } from '../config/model/address-values.js';

const MOST_REDIRECTS = 10;
/** Schemes of pages and files: what a browser would run or show as its own. */
const NEVER = new Set([
  'javascript:',
  'data:',
  'file:',
  'blob:',
  'about:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
  'ftp:',
]);

/** HTTPS, plain HTTP on the client's own machine, or a scheme of its own (RFC 8252 section 7). */
const redirectUri = z
  .string()
  .max(2_000)
  .refine((text) => isRedirect(text), 'must be https:, http: of this machine, or a private scheme, without a fragment');

/** Checks it. What is not named here is left out: it changes nothing. */
export const clientMetadata = z.object({
  redirect_uris: z.array(redirectUri).min(1).max(MOST_REDIRECTS),
  client_name: z.string().trim().min(1).max(200).optional(),
  token_endpoint_auth_method: z.string().max(100).optional(),
});

/** ClientMetadata is what was checked. */
export type ClientMetadata = z.output<typeof clientMetadata>;

/** What the authorization server knows a client by: public, with a code and refresh tokens. */
export function clientProperties(clientId: string, { redirect_uris: uris, client_name: name }: ClientMetadata): object {
  return {
    client_id: clientId,
    client_name: shownName(name) ?? hostOf(clientId) ?? 'MCP client',
    redirect_uris: uris,
    application_type: uris.every((uri) => !uri.startsWith('https:')) ? 'native' : 'web',
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
  if (url.protocol === 'https:') return true;
  if (url.protocol === 'http:') return isLoopbackHost(url.hostname);
  return !NEVER.has(url.protocol);
}
