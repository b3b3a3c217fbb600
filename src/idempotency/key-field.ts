/**
 * Parses the `Idempotency-Key` request header (draft-ietf-httpapi-idempotency-key-header-07). An invalid or repeated
 * header is a problem.
 */
import { FixedProblem } from '../platform/problems/errors.js';

/** Maximum length of a key in characters, without quotes and escapes. */
const MAX_KEY_LENGTH = 255;
/** Matches a nonempty String of Structured Fields (RFC 9651 section 3.3.3), which is the syntax of the draft. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])+)"$/;
/** Matches a key without quotes, as most clients send it. Spaces are allowed only inside the key. */
const BARE = /^[!#-~](?:[ !#-~]*[!#-~])?$/;
/** Maximum length of the header value. In a String, each character can be escaped, and two quotes enclose the text. */
const MAX_FIELD_LENGTH = 2 * MAX_KEY_LENGTH + 2;

const INVALID = new FixedProblem('invalid_idempotency_key', {
  detail: 'Send one Idempotency-Key of 1 to 255 printable characters of ASCII, with or without quotes, such as a UUID.',
});

/**
 * Returns the key without quotes and escapes, so `"a"` and `a` are the same key.
 * @param field value of the header. Node joins repeated headers with a comma, but a single key can also contain a
 * comma.
 * @param rawHeaders alternating names and values as received, to detect a repeated header.
 * @returns the key, or the problem `invalid_idempotency_key` if the value is not a key or the header is repeated.
 */
export function keyOf(field: string, rawHeaders: readonly string[]): string | FixedProblem {
  if (field.length > MAX_FIELD_LENGTH || isRepeated(rawHeaders)) return INVALID;
  const quoted = QUOTED.exec(field)?.[1];
  const key = quoted === undefined ? (BARE.exec(field)?.[0] ?? '') : quoted.replaceAll(/\\(.)/g, '$1');
  return key === '' || key.length > MAX_KEY_LENGTH ? INVALID : key;
}

function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === HEADER_NAME.length && name.toLowerCase() === HEADER_NAME) count += 1;
  }
  return count > 1;
}

const HEADER_NAME = 'idempotency-key';
