/**
 * Resolves names that strangers have chosen. Not by the system's resolver: that one has four threads for all of a
 * process, files too, and a name server that is silent holds each of them for seconds.
 */
import { Resolver } from 'node:dns/promises';
import { codeOf, OutboundFailed } from './outbound-failed.js';

const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** More than this a name has no use for; each is checked. */
const MOST_ADDRESSES = 32;
/** RFC 6761 section 6.3: no name server is asked. */
const LOCALHOST = /^(?:.+\.)?localhost$/;
/** The name is there, but has no address of this family; or it is not there. */
const NONE: ReadonlySet<string | undefined> = new Set(['ENODATA', 'ENOTFOUND']);

/** All addresses of a name, those to be tried first in front. Rejects with `OutboundFailed` where there is none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Who is asked, and how long; in tests. */
export interface NameResolverOptions {
  /** As `127.0.0.1:53`; else the name servers of this machine. */
  readonly servers?: readonly string[];
  /** Of the first try; the second one has twice as long. */
  readonly timeoutMs?: number;
}

/** Makes a resolver. */
export function nameResolver({ servers, timeoutMs = TIMEOUT_MS }: NameResolverOptions = {}): ResolveName {
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async (name) => {
    if (LOCALHOST.test(name)) return ['127.0.0.1', '::1'];
    const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
    if (addresses.length > 0 && addresses.length <= MOST_ADDRESSES) return addresses;
    const codes = families.map((family) => (family.status === 'rejected' ? codeOf(family.reason) : 'too many'));
    const isMissing = addresses.length === 0 && codes.every((code) => NONE.has(code));
    throw new OutboundFailed(
      isMissing ? 'name_not_found' : 'name_unresolved',
      codes.find((code) => !NONE.has(code)),
    );
  };
}
