/**
 * A backend's own address in the fields of its response, as clients must see it. What points to the target that
 * answered becomes a path of the public API, which every client resolves against the URL that it asked (RFC 9110
 * section 10.2.2): neither the `Host` of the request nor a load balancer's scheme has to be believed for it.
 */
/** Where a target is, and where its paths begin for the public. */
export interface ReferenceMap {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Its path without a slash at the end; empty where it has none. */
  readonly prefix: string;
  readonly basePath: string;
}

const ABSOLUTE = /^(?:https?:)?\/\/[^/?#]*/i;

/** The public form of a reference; what does not point to the target is returned as it is. */
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

/** The public form of what `Location`, `Content-Location` or `Link` says. @param lower its name. */
export function publicField(lower: string, value: string, map: ReferenceMap): string {
  if (lower !== 'link') return publicReference(value, map);
  return value.replaceAll(/<([^<>]*)>/g, (_all, target: string) => `<${publicReference(target, map)}>`);
}
