/**
 * Rewrites references to a backend in response fields. References to the target that responded become paths of the
 * public API. Clients resolve these against the request URL (RFC 9110 section 10.2.2). So neither `Host` nor the scheme
 * of a load balancer has to be trusted.
 */
/** Maps a target to its public base path. */
export interface ReferenceMap {
  /** Scheme, host and port. */
  readonly origin: string;
  /** The target's path without a trailing slash; may be empty. */
  readonly prefix: string;
  readonly basePath: string;
}

const ABSOLUTE = /^(?:https?:)?\/\/[^/?#]*/i;

/** Returns the public form of a reference. Other references are returned unchanged. */
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
 * Returns the public form of a `Location`, `Content-Location` or `Link` value. @param lower field name in lower case.
 */
export function publicField(lower: string, value: string, map: ReferenceMap): string {
  if (lower !== 'link') return publicReference(value, map);
  return value.replaceAll(/<([^<>]*)>/g, (_all, target: string) => `<${publicReference(target, map)}>`);
}
