/**
 * Resolves host names that a customer or another party has chosen. Sends the queries itself instead of using the
 * system's resolver, which reads files and has only four threads per process. A silent name server would block each of
 * these threads for seconds.
 */
import { Resolver } from 'node:dns/promises';
import { codeOf, OutboundFailed } from './outbound-failed.js';

const TIMEOUT_MS = 2_000;
const TRIES = 2;
/**
 * Maximum number of addresses of a name. Names with more addresses are rejected, because each address must be checked.
 */
const MAX_ADDRESSES = 32;
/** Matches names that are resolved without a name server (RFC 6761 section 6.3). */
const LOCALHOST = /^(?:.+\.)?localhost$/;
/** Error codes that mean that a name does not exist, or has no address of the family. */
const NONE: ReadonlySet<string | undefined> = new Set(['ENODATA', 'ENOTFOUND']);

/**
 * ResolveName resolves a name to all of its addresses, IPv4 first. Rejects with `OutboundFailed` if there are no or too
 * many addresses, or if the look-up fails.
 */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** NameResolverOptions are options for tests. */
export interface NameResolverOptions {
  /** Name servers, such as `127.0.0.1:53`. Default: the name servers of this machine. */
  readonly servers?: readonly string[];
  /** Timeout of the first query, in ms. The second query waits twice as long. */
  readonly timeoutMs?: number;
}

export function nameResolver({ servers, timeoutMs = TIMEOUT_MS }: NameResolverOptions = {}): ResolveName {
  const resolver = new Resolver({ timeout: timeoutMs, tries: TRIES });
  if (servers !== undefined) resolver.setServers(servers);
  return async (name) => {
    if (LOCALHOST.test(name)) return ['127.0.0.1', '::1'];
    const families = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = families.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
    if (addresses.length > 0 && addresses.length <= MAX_ADDRESSES) return addresses;
    const codes = families.map((family) => (family.status === 'rejected' ? codeOf(family.reason) : 'too many'));
    const isMissing = addresses.length === 0 && codes.every((code) => NONE.has(code));
    throw new OutboundFailed(
      isMissing ? 'name_not_found' : 'name_unresolved',
      codes.find((code) => !NONE.has(code)),
    );
  };
}
