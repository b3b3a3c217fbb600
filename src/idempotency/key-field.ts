/**
 * The field `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header-07): which key a client has chosen for a
 * request that it may send again.
 */
import { FixedProblem } from '../platform/problems/errors.js';

/** Of a key, quotes and escapes not counted. */
const LONGEST_KEY = 255;
/** A String of Structured Fields (RFC 9651 section 3.3.3), as the draft has it. */
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])+)"$/;
/** The same without quotes, as most clients send it. */
const BARE = /^[!#-~](?:[ !#-~]*[!#-~])?$/;
/** Longer ones are not looked at: every character of a String may be escaped. */
const LONGEST_FIELD = 2 * LONGEST_KEY + 2;

const INVALID = new FixedProblem('invalid_idempotency_key', {
  detail: 'Send one Idempotency-Key of 1 to 255 printable characters of ASCII, in quotes or without: a UUID does.',
});

/**
 * The key in a field, without quotes: `"a"` and `a` are the same key.
 * @param field its value; several fields joined by a comma are not told from one that has a comma, see `rawHeaders`.
 * @param rawHeaders name, value, name, value, as they came in: to see whether there are several.
 */
export function keyOf(field: string, rawHeaders: readonly string[]): string | FixedProblem {
  if (field.length > LONGEST_FIELD || isTwice(rawHeaders)) return INVALID;
  const quoted = QUOTED.exec(field)?.[1];
  const key = quoted === undefined ? (BARE.exec(field)?.[0] ?? '') : quoted.replaceAll(/\\(.)/g, '$1');
  return key === '' || key.length > LONGEST_KEY ? INVALID : key;
}

function isTwice(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    if (name.length === NAME.length && name.toLowerCase() === NAME) count += 1;
  }
  return count > 1;
}

const NAME = 'idempotency-key';
