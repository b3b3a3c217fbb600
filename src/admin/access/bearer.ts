/** Parses `Authorization: Bearer …` headers of the admin API (RFC 6750) and creates their problems. */
import { Problem } from '../../platform/problems/errors.js';

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** The `WWW-Authenticate` challenge of every 401 (RFC 9110), also for cookies. Browsers open no dialog for `Bearer`. */
export const CHALLENGE = 'Bearer realm="trailgate-admin"';

/** Reports whether the header uses the Bearer scheme, even if malformed. A proxy in front may use Basic for itself. */
export function isBearer(header: string | undefined): header is string {
  return header !== undefined && /^Bearer(?: |$)/i.test(header);
}

/** Returns the token of the header; undefined without a header or for another scheme. Throws for a malformed token. */
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
