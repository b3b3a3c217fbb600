/**
 * How a key comes in: `Authorization: Bearer <key>` (RFC 6750 section 2.1), once, and nowhere else. The challenges that
 * a refusal carries are written here too (RFC 6750 section 3).
 */
import { FixedProblem, type ErrorCode, type Problem } from '../platform/problems/errors.js';
import { holdsSecret, isWellFormedSecret, SECRET_LENGTH } from './api-key-format.js';

const REALM = 'Bearer realm="api"';
const HOW_TO = 'Send your API key as "Authorization: Bearer <API_KEY>".';
const NOTHING_FOLLOWS = 'No key follows Bearer in the Authorization header.';

const NO_HEADER = refusedKey('missing_api_key', HOW_TO);
const NO_KEY = refusedKey('missing_api_key', `${NOTHING_FOLLOWS} ${HOW_TO}`);
const OTHER_SCHEME = refusedKey(
  'missing_api_key',
  `The Authorization header has another scheme than Bearer. ${HOW_TO}`,
);
const MALFORMED_KEY = refusedKey(
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
 * The secret of a request; a problem where it has none: `missing_api_key`, `invalid_api_key` or
 * `malformed_authorization`.
 * @param authorization the header as Node gives it (the first one, when there are several).
 * @param rawHeaders name, value, name, value: to see whether there are several.
 * @param url path and query as received: a key in it is refused, because URLs end up in logs and histories.
 */
export function bearerSecret(
  authorization: string | undefined,
  rawHeaders: readonly string[],
  url: string,
): string | Problem {
  if (holdsSecret(url)) return authorization === undefined ? KEY_IN_URL_ALONE : KEY_IN_URL;
  if (authorization === undefined) return NO_HEADER;
  if (countAuthorization(rawHeaders) > 1) return TWO_HEADERS;
  // The scheme is case-insensitive (RFC 9110 section 11.1); one space or more follow it.
  if (authorization.length < 7 || authorization.slice(0, 7).toLowerCase() !== 'bearer ') {
    // What an empty variable leaves: the parser has removed the space behind the scheme.
    return authorization.toLowerCase() === 'bearer' ? NO_KEY : OTHER_SCHEME;
  }
  const secret = authorization.length === SECRET_LENGTH + 7 ? authorization.slice(7) : authorization.slice(7).trim();
  if (secret === '') return NO_KEY;
  return isWellFormedSecret(secret) ? secret : MALFORMED_KEY;
}

/** Why a request that sends its key as it should is refused all the same: a secret stands in its URL too. */
export function keyInUrl(url: string): Problem | undefined {
  return holdsSecret(url) ? KEY_IN_URL : undefined;
}

/** A 401 with the challenge that RFC 6750 asks for: without an error code when there were no credentials at all. */
export function refusedKey(code: ErrorCode, detail: string): FixedProblem {
  const header = code === 'missing_api_key' ? REALM : challenge('invalid_token', detail);
  return new FixedProblem(code, { detail, headers: ['WWW-Authenticate', header] });
}

/** The challenge of a 403 for missing scopes; names all scopes that the operation needs (RFC 6750 section 3.1). */
export function insufficientScopeChallenge(needed: readonly string[]): string {
  return `${REALM}, error="insufficient_scope", scope="${needed.join(' ')}"`;
}

/** `error_description` may hold no quote and no backslash, and ASCII only. */
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
