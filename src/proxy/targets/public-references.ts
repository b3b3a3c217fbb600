/**
 * Rewrites references to a backend in response fields such as `Location`. References to the target that responded
 * become paths of the public API. Clients resolve these paths against the request URL (RFC 9110 section 10.2.2). So the
 * gateway need not trust `Host` or the scheme that a load balancer reports.
 */
/** ReferenceMap maps a target to its public base path. */
export interface ReferenceMap {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The target's path without a trailing slash; may be empty. */
  readonly prefix: string;
  /** Base path of the public API, such as `/api/v1`. */
  readonly basePath: string;
}

/** Matches the scheme and authority of an absolute reference. The scheme is optional, as in `//host/path`. */
const ABSOLUTE = /^(?:https?:)?\/\/[^/?#]*/i;

/** Returns the public path for a reference to the target. Returns any other reference unchanged. */
export function publicReference(reference: string, { origin, prefix, basePath }: ReferenceMap): string {
  const authority = ABSOLUTE.exec(reference)?.[0];
  if (authority === undefined && prefix === '') return reference;
  if (authority !== undefined && URL.parse(authority, origin)?.origin !== origin) return reference;
  const path = reference.slice(authority?.length ?? 0);
  if (!path.startsWith(prefix)) return reference;
  const rest = path.slice(prefix.length);
  if (rest !== '' && !/^[/?#]/.test(rest)) return reference;
  return basePath + rest;
}

/**
 * Rewrites the value of a `Location`, `Content-Location` or `Link` field. @param lower field name in lower case.
 */
export function publicField(lower: string, value: string, map: ReferenceMap): string {
  if (lower !== 'link') return publicReference(value, map);
  return value.replaceAll(/<([^<>]*)>/g, (_all, target: string) => `<${publicReference(target, map)}>`);
}
