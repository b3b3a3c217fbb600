/**
 * Paths that say one thing only. Routes are matched on the normalised path and the original is forwarded,
 * so every form that a backend might read differently than we do is refused instead of guessed at (RFC
 * 3986 section 6, RFC 9110 section 7).
 */

/** Segments of unreserved characters and sub-delimiters, none empty (but a trailing one), none beginning with a dot. */
const PLAIN = /^(?:\/[A-Za-z0-9_~!$&'()*+,=:@-][A-Za-z0-9._~!$&'()*+,=:@-]*)+\/?$|^\/$/;

/**
 * RFC 3986 section 3.3 without `;`, which some servers take for the end of a
 * segment, and without empty segments inside.
 */
const WELL_FORMED = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2})+)+\/?$/;

/**
 * What a second decoding, or a decoding before splitting, would turn into a separator, a dot segment or an end of text.
 * A control character belongs in no identifier.
 */
const TREACHEROUS = /[\x00-\x1f\x7f\\;]|%[0-9a-f]{2}/i;

/** A dot segment, also where a backend cuts off spaces, or decodes before it looks for the query. */
export const DOTS = /^\s*\.\.?\s*(?:[?#]|$)/;

/**
 * The decoded segments of a path, or undefined when it must be refused. `plain` paths need no decoding.
 * @param takesSlashes whether a segment may have `%2F` between two parts that could be segments themselves.
 */
export function pathSegments(path: string, takesSlashes = false): string[] | undefined {
  if (PLAIN.test(path)) return path.slice(1).split('/');
  if (!WELL_FORMED.test(path)) return undefined;
  const segments: string[] = [];
  for (const encoded of path.slice(1).split('/')) {
    const segment = decode(encoded);
    if (segment === undefined || TREACHEROUS.test(segment)) return undefined;
    const parts = segment.split('/');
    if (parts.length > 1 && (!takesSlashes || parts.includes(''))) return undefined;
    if (parts.some((part) => DOTS.test(part))) return undefined;
    segments.push(segment);
  }
  return segments;
}

function decode(encoded: string): string | undefined {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
