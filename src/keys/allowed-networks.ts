/** Parses the stored lists of networks that may use an API key or token. An unreadable entry never widens access. */
import type { Logger } from '../platform/log.js';
import { NetworkList } from '../platform/network-list.js';

/** Maximum number of keys and tokens for which a warning is logged. Further warnings are dropped. */
const MAX_WARNED = 1_000;

/** AllowedNetworks parses the lists, and logs one unreadable entry per key or token. */
export class AllowedNetworks {
  private readonly warned = new Set<string>();

  constructor(private readonly log: Logger | undefined) {}

  /**
   * Parses a stored list. An entry that is no longer valid matches no address.
   * @param ownerId ID of the key or token, for the log.
   * @returns undefined if the list is empty, which allows all addresses.
   */
  read(entries: readonly string[], ownerId: string): NetworkList | undefined {
    if (entries.length === 0) return undefined;
    return NetworkList.reading(entries, (entry) => this.warn(entry, ownerId));
  }

  private warn(entry: string, ownerId: string): void {
    if (this.warned.has(ownerId) || this.warned.size >= MAX_WARNED) return;
    this.warned.add(ownerId);
    this.log?.warn(
      { event: 'allowed_ips_unreadable', owner: ownerId, entry },
      'an entry of allowed_ips cannot be read and matches no address: set the list anew',
    );
  }
}
