/** `Authorization: Bearer …` of the admin API (RFC 6750): what it must look like, and the words of its refusals. */
import { Problem } from '../../platform/problems/errors.js';

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i;

/** What every 401 says (RFC 9110), also of cookies: browsers open no dialog for it. */
export const CHALLENGE = 'Bearer realm="trailgate-admin"';

/** Whether the header tries a token, be it a malformed one. A proxy in front may ask for a password of its own. */
export function isBearer(header: string | undefined): header is string {
  return header !== undefined && /^Bearer(?: |$)/i.test(header);
}

/** The token of the header; undefined where it names another scheme, or there is none. Throws for a malformed one. */
export function bearerToken(header: string | undefined): string | undefined {
  if (!isBearer(header)) return undefined;
  const token = BEARER.exec(header)?.[1];
  if (token !== undefined) return token;
  throw new Problem('malformed_authorization', {
    detail: 'The header must be: Authorization: Bearer, one space, one token.',
    headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_request"`],
  });
}

/** For who sends nothing to be known by. */
export function noCredentials(): Problem {
  return new Problem('missing_credentials', {
    detail: 'Sign in, or send a token: Authorization: Bearer $TRAILGATE_ADMIN_TOKEN.',
    headers: ['WWW-Authenticate', CHALLENGE],
  });
}

/** For a token that is none, was revoked or has expired: one text for all of them. */
export function wrongToken(): Problem {
  const description = 'error_description="The token is not valid"';
  return new Problem('invalid_credentials', {
    detail: 'This is neither the operator token of this installation nor a token of an account that works.',
    headers: ['WWW-Authenticate', `${CHALLENGE}, error="invalid_token", ${description}`],
  });
}
