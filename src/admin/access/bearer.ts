/**
 * Parses `Authorization: Bearer …` headers of the admin API and of event intake (RFC 6750). Creates the problems for
 * missing, malformed and rejected tokens.
 */
import { Problem } from '../../platform/problems/errors.js';

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/**
 * Challenge in the `WWW-Authenticate` header of 401 responses, also to requests with a session cookie. `Bearer` does
 * not open a password dialog in browsers.
 */
export const CHALLENGE = 'Bearer realm="trailgate-admin"';

/**
 * Reports whether a header uses the Bearer scheme, even if its token is malformed. Other schemes can be meant for a
 * reverse proxy.
 */
export function isBearer(header: string | undefined): header is string {
  return header !== undefined && /^Bearer(?: |$)/i.test(header);
}

/**
 * Returns the bearer token of an `Authorization` header. Returns undefined if the header is missing or uses another
 * scheme.
 * @throws Problem `malformed_authorization` if the token is malformed
 */
export function bearerToken(header: string | undefined): string | undefined {
  if (!isBearer(header)) return undefined;
  const token = BEARER.exec(header)?.[1];
  if (token !== undefined) return token;
  throw new Problem('malformed_authorization', {
    detail: 'Send the header as `Authorization: Bearer <token>`, with one space and one token.',
    headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_request"`],
  });
}

/** Creates the problem `missing_credentials` (401) for a request that has neither a token nor a session cookie. */
export function noCredentials(): Problem {
  return new Problem('missing_credentials', {
    detail: 'Sign in, or send a token: Authorization: Bearer $TRAILGATE_ADMIN_TOKEN.',
    headers: ['WWW-Authenticate', CHALLENGE],
  });
}

/**
 * Creates the problem `invalid_credentials` (401) for a rejected token. The text is the same for unknown, revoked and
 * expired tokens, and does not reveal whether a token exists.
 */
export function wrongToken(): Problem {
  const description = 'error_description="The token is not valid"';
  return new Problem('invalid_credentials', {
    detail: 'Invalid token. Send the operator token of this installation or an active account token.',
    headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token", ${description}`],
  });
}
