/** The networks that an API key or a token may be used from. */
import type { Logger } from '../platform/log.js';
import { NetworkList } from '../platform/network-list.js';

/** Keys and tokens whose unreadable entries are remembered, so that each is logged once. */
const MOST_TOLD = 1_000;

/** AllowedNetworks reads the lists of keys and tokens from their rows. */
export class AllowedNetworks {
  private readonly told = new Set<string>();

  constructor(private readonly log: Logger | undefined) {}

  /**
   * Reads a stored list. An entry that today's rules refuse matches no address, and is logged once.
   * @param ownerId key or token that has the list. @returns undefined where any address is allowed.
   */
  read(entries: readonly string[], ownerId: string): NetworkList | undefined {
    if (entries.length === 0) return undefined;
    return NetworkList.reading(entries, (entry) => this.warn(entry, ownerId));
  }

  private warn(entry: string, ownerId: string): void {
    if (this.told.has(ownerId) || this.told.size >= MOST_TOLD) return;
    this.told.add(ownerId);
    this.log?.warn(
      { event: 'allowed_ips_unreadable', owner: ownerId, entry },
      'an entry of allowed_ips cannot be read and matches no address: set the list anew',
    );
  }
}
