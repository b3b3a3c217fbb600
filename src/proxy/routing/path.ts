/**
 * Parses request paths strictly. Routing uses the decoded path, but the gateway forwards the original path. Therefore
 * the gateway rejects every path that a backend could read differently (RFC 3986 section 6, RFC 9110 section 7).
 */

/** Paths that need no decoding. Only the last segment may be empty, and no segment begins with a dot. */
const PLAIN = /^(?:\/[A-Za-z0-9_~!$&'()*+,=:@-][A-Za-z0-9._~!$&'()*+,=:@-]*)+\/?$|^\/$/;

/** Paths as in RFC 3986 section 3.3, but without empty inner segments and `;`. Some servers end segments at `;`. */
const WELL_FORMED = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2})+)+\/?$/;

/**
 * Decoded text that is dangerous for a backend that decodes twice, or before it splits the path. The backend would read
 * the text as a separator, a dot segment or the end of the text. Control characters are never part of an identifier.
 */
const DANGEROUS = /[\x00-\x1f\x7f\\;]|%[0-9a-f]{2}/i;

/** A dot segment, also as seen by backends that trim spaces, or that decode before they split off the query. */
export const DOTS = /^\s*\.\.?\s*(?:[?#]|$)/;

/**
 * Returns the decoded segments of a path, or undefined if the path must be rejected.
 * @param takesSlashes whether a segment may contain `%2F` between two non-empty parts.
 */
export function pathSegments(path: string, takesSlashes = false): string[] | undefined {
  if (PLAIN.test(path)) return path.slice(1).split('/');
  if (!WELL_FORMED.test(path)) return undefined;
  const segments: string[] = [];
  for (const encoded of path.slice(1).split('/')) {
    const segment = decode(encoded);
    if (segment === undefined || DANGEROUS.test(segment)) return undefined;
    const parts = segment.split('/');
    if (parts.length > 1 && (!takesSlashes || parts.includes(''))) return undefined;
    if (parts.some((part) => DOTS.test(part))) return undefined;
    segments.push(segment);
  }
  return segments;
}

/** Decodes a segment. Returns undefined for text that is not UTF-8. */
function decode(encoded: string): string | undefined {
  if (!encoded.includes('%')) return encoded;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}
