/**
 * Resolves host names that a customer or another party has chosen. Does not use the system's resolver, which reads
 * files and has only four threads per process. A silent name server would block each thread for seconds.
 */
import { Resolver } from 'node:dns/promises';
import { codeOf, OutboundFailed } from './outbound-failed.js';

const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** Maximum number of addresses of a name. Names with more are rejected, because each address is checked. */
const MAX_ADDRESSES = 32;
/** Names that are resolved without a name server (RFC 6761 section 6.3). */
const LOCALHOST = /^(?:.+\.)?localhost$/;
/** Error codes for a name that does not exist, or has no address of this family. */
const NONE: ReadonlySet<string | undefined> = new Set(['ENODATA', 'ENOTFOUND']);

/** Resolves to all addresses of a name, IPv4 first. Rejects with `OutboundFailed` if there are none or too many. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Options for tests. */
export interface NameResolverOptions {
  /** Name servers, such as `127.0.0.1:53`. Defaults to those of this machine. */
  readonly servers?: readonly string[];
  /** Timeout of the first try. The second try waits twice as long. */
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
