/** Explains to clients why the gateway rejects a path: the first fault of the path, and how to fix the fault. */
import { DOTS } from './path.js';

/** Characters that a path must not contain: all that RFC 3986 section 3.3 excludes, and `;`. */
const NOT_ALLOWED = /[^A-Za-z0-9._~!$&'()*+,=:@/%-]/;
const BAD_ESCAPE = /%(?![0-9a-f]{2})/i;
const ESCAPED_CONTROL = /%(?:[01][0-9a-f]|7f)/i;
const NON_ASCII_ESCAPES = /(?:%[89a-f][0-9a-f])+/gi;

/** Returns the `detail` of the problem for a path that `pathSegments` rejects. @param path without the query. */
export function pathFault(path: string): string {
  if (!path.startsWith('/')) return 'The path does not start with a slash.';
  const character = NOT_ALLOWED.exec(path)?.[0];
  if (character !== undefined) return characterFault(character);
  if (BAD_ESCAPE.test(path)) return 'The path contains a % without two hexadecimal digits after it. Encode it as %25.';
  const control = ESCAPED_CONTROL.exec(path)?.[0];
  if (control !== undefined) return `The path contains the control character ${control}. Remove it.`;
  if (/%5c/i.test(path)) return characterFault('\\');
  if (/%3b/i.test(path)) return characterFault(';');
  const nonUtf8 = path
    .match(NON_ASCII_ESCAPES)
    ?.map(firstNonUtf8Escape)
    .find((escape) => escape !== undefined);
  return nonUtf8 === undefined ? decodedFault(path) : nonUtf8Fault(nonUtf8);
}

function characterFault(character: string): string {
  if (character === '\\') return 'The path contains a backslash, which is not allowed, raw or as %5C.';
  if (character === ';') return 'The path contains a semicolon, which is not allowed, raw or as %3B.';
  if (character > '~')
    return 'The path contains a non-ASCII character. Percent-encode it as UTF-8, such as é as %C3%A9.';
  if (character < ' ') return 'The path contains a control character. Remove it.';
  const shown = character === ' ' ? 'a space' : character;
  return `The path contains ${shown}. Encode it as ${encodeURIComponent(character)}.`;
}

/**
 * Returns the first escape that is not part of a UTF-8 character, or undefined. @param escapes consecutive escapes of
 * bytes beyond ASCII.
 */
function firstNonUtf8Escape(escapes: string): string | undefined {
  let rest = escapes;
  while (rest !== '') {
    const bytes = [2, 3, 4].find((count) => isCharacter(rest.slice(0, count * 3)));
    if (bytes === undefined) return rest.slice(0, 3);
    rest = rest.slice(bytes * 3);
  }
  return undefined;
}

function isCharacter(escapes: string): boolean {
  try {
    return Array.from(decodeURIComponent(escapes)).length === 1;
  } catch {
    return false;
  }
}

/**
 * Describes an escape that is not UTF-8. Interprets the byte as Latin-1, because most clients that send invalid escapes
 * use Latin-1.
 */
function nonUtf8Fault(escape: string): string {
  const character = String.fromCharCode(parseInt(escape.slice(1), 16));
  const isVisible = character > '\xa0';
  const advice = isVisible ? `Encode ${character} as ${encodeURIComponent(character)}` : 'Encode the text as UTF-8';
  return `The path contains ${escape}, which is not UTF-8. ${advice}.`;
}

/** Describes a fault of the decoded path: double encoding, a dot segment, an encoded slash, or an empty segment. */
function decodedFault(path: string): string {
  const twice = /%[0-9a-f]{2}/i.exec(decodeURIComponent(path))?.[0];
  if (twice !== undefined) {
    return `The path contains ${twice} after decoding, so it is encoded twice. Encode each parameter once.`;
  }
  const segments = path.slice(1).split('/').map(decodeURIComponent);
  if (segments.some((segment) => segment.split('/').some((part) => DOTS.test(part)))) {
    return 'The path contains a "." or ".." segment. Send the resolved path.';
  }
  if (segments.some((segment) => segment.includes('/'))) {
    return (
      'The path contains an encoded slash (%2F). Only some operations accept it, and only between two non-empty ' +
      'parts of a parameter.'
    );
  }
  return 'The path contains an empty segment. Use single slashes, and fill in every parameter.';
}
