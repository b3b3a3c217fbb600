/**
 * Parses `Authorization: Bearer <key>` (RFC 6750 section 2.1), the only way to send a key. Also creates the
 * `WWW-Authenticate` challenges of refusals (RFC 6750 section 3).
 */
import { FixedProblem, type ErrorCode, type Problem } from '../platform/problems/errors.js';
import { holdsSecret, isForeignSecret, isWellFormedSecret, SECRET_LENGTH } from './api-key-format.js';

const REALM = 'Bearer realm="api"';
const HOW_TO = 'Send your API key as "Authorization: Bearer <API_KEY>".';
const NOTHING_FOLLOWS = 'No key follows Bearer in the Authorization header.';

const NO_HEADER = refusedKey('missing_api_key', HOW_TO);
const NO_KEY = refusedKey('missing_api_key', `${NOTHING_FOLLOWS} ${HOW_TO}`);
const OTHER_SCHEME = refusedKey(
  'missing_api_key',
  `The Authorization header has another scheme than Bearer. ${HOW_TO}`,
);
export const MALFORMED_KEY = refusedKey(
  'invalid_api_key',
  'This is not an API key: its form or checksum is wrong. Was it copied whole?',
);
const TWO_HEADERS = new FixedProblem('malformed_authorization', {
  detail: 'The request has more than one Authorization header. Send exactly one.',
  headers: ['WWW-Authenticate', challenge('invalid_request', 'More than one Authorization header')],
});
const KEY_IN_URL_TEXT = `An API key in the URL is never accepted, because URLs are logged. Rotate this key. ${HOW_TO}`;
const KEY_IN_URL_ALONE = refusedKey('missing_api_key', KEY_IN_URL_TEXT);
const KEY_IN_URL = new FixedProblem('malformed_authorization', {
  detail: KEY_IN_URL_TEXT,
  headers: ['WWW-Authenticate', challenge('invalid_request', 'API key in the URL')],
});

/**
 * Returns the secret of a request, which is well-formed or foreign (see `isForeignSecret`). Otherwise returns the
 * problem `missing_api_key`, `invalid_api_key` or `malformed_authorization`.
 * @param authorization the first `Authorization` header.
 * @param rawHeaders header names and values in turn, to detect a repeated header.
 * @param url path and query as received. A key in the URL is refused, because URLs appear in logs and histories.
 */
export function bearerSecret(
  authorization: string | undefined,
  rawHeaders: readonly string[],
  url: string,
): string | Problem {
  if (holdsSecret(url)) return authorization === undefined ? KEY_IN_URL_ALONE : KEY_IN_URL;
  if (authorization === undefined) return NO_HEADER;
  if (countAuthorization(rawHeaders) > 1) return TWO_HEADERS;
  // The scheme is case-insensitive (RFC 9110 section 11.1), and one or more spaces follow it.
  if (authorization.length < 7 || authorization.slice(0, 7).toLowerCase() !== 'bearer ') {
    // A client whose variable for the key is empty sends only the scheme. The parser has removed the space after the
    // scheme.
    return authorization.toLowerCase() === 'bearer' ? NO_KEY : OTHER_SCHEME;
  }
  const secret = authorization.length === SECRET_LENGTH + 7 ? authorization.slice(7) : authorization.slice(7).trim();
  if (secret === '') return NO_KEY;
  return isWellFormedSecret(secret) || isForeignSecret(secret) ? secret : MALFORMED_KEY;
}

/**
 * Returns the error for a URL that contains a secret, or undefined. A request with such a URL is refused even if its
 * header is valid.
 */
export function keyInUrl(url: string): Problem | undefined {
  return holdsSecret(url) ? KEY_IN_URL : undefined;
}

/**
 * Creates a 401 with a challenge (RFC 6750 section 3). For `missing_api_key`, the challenge has no error code, because
 * the request had no credentials.
 */
export function refusedKey(code: ErrorCode, detail: string): FixedProblem {
  const header = code === 'missing_api_key' ? REALM : challenge('invalid_token', detail);
  return new FixedProblem(code, { detail, headers: ['WWW-Authenticate', header] });
}

/**
 * Returns the challenge of a 403 for missing scopes. The challenge lists all scopes of the operation (RFC 6750 section
 * 3.1).
 */
export function insufficientScopeChallenge(needed: readonly string[]): string {
  return `${REALM}, error="insufficient_scope", scope="${needed.join(' ')}"`;
}

/**
 * Creates a challenge with an error code. `error_description` allows only printable ASCII without quotes and
 * backslashes, so other characters become `'`.
 */
function challenge(error: string, description: string): string {
  return (
    `${REALM}, error="${error}", ` +
    `error_description="${description.replaceAll(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'")}"`
  );
}

function countAuthorization(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 13 && name.toLowerCase() === 'authorization') count++;
  }
  return count;
}
