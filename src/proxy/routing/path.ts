/**
 * Parses request paths strictly. Routing uses the decoded path, but the original is forwarded. Every form that a
 * backend could read differently is therefore rejected (RFC 3986 section 6, RFC 9110 section 7).
 */

/** Segments of unreserved characters and sub-delimiters. Only the last may be empty, and none begins with a dot. */
const PLAIN = /^(?:\/[A-Za-z0-9_~!$&'()*+,=:@-][A-Za-z0-9._~!$&'()*+,=:@-]*)+\/?$|^\/$/;

/** RFC 3986 section 3.3, without empty inner segments and without `;`. Some servers end a segment at a semicolon. */
const WELL_FORMED = /^(?:\/(?:[A-Za-z0-9._~!$&'()*+,=:@-]|%[0-9A-Fa-f]{2})+)+\/?$/;

/**
 * Text that would become a separator, a dot segment or an end of text in a backend that decodes twice or before
 * splitting. Control characters belong in no identifier.
 */
const TREACHEROUS = /[\x00-\x1f\x7f\\;]|%[0-9a-f]{2}/i;

/** A dot segment, including forms for backends that trim spaces or decode before they find the query. */
export const DOTS = /^\s*\.\.?\s*(?:[?#]|$)/;

/**
 * Returns the decoded segments of a path, or undefined if it must be rejected.
 * @param takesSlashes whether a segment may contain `%2F` between two non-empty parts.
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
