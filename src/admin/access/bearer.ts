/** Parses `Authorization: Bearer …` headers of the admin API (RFC 6750), and creates their error responses. */
import { Problem } from '../../platform/problems/errors.js';

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** `WWW-Authenticate` challenge of every 401, also for cookies. Browsers show no password dialog for `Bearer`. */
export const CHALLENGE = 'Bearer realm="trailgate-admin"';

/** Reports whether the header uses the Bearer scheme, even if malformed. Other schemes can be meant for a proxy. */
export function isBearer(header: string | undefined): header is string {
  return header !== undefined && /^Bearer(?: |$)/i.test(header);
}

/**
 * Returns the token of the header. Returns undefined without a header and for other schemes.
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

/** Creates the problem for a request without credentials. */
export function noCredentials(): Problem {
  return new Problem('missing_credentials', {
    detail: 'Sign in, or send a token: Authorization: Bearer $TRAILGATE_ADMIN_TOKEN.',
    headers: ['WWW-Authenticate', CHALLENGE],
  });
}

/** Creates the problem for a rejected token. The text is the same for unknown, revoked and expired tokens. */
export function wrongToken(): Problem {
  const description = 'error_description="The token is not valid"';
  return new Problem('invalid_credentials', {
    detail: 'Invalid token. Send the operator token of this installation or an active account token.',
    headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token", ${description}`],
  });
}
