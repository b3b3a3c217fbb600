/** Resolves the host name of a target periodically. While resolution fails, the known addresses stay in use. */
import { ADDRCONFIG, lookup, type LookupAddress } from 'node:dns';

const RESOLVE_INTERVAL_MS = 10_000;
/** Maximum number of addresses per name. Further addresses are not used. */
const MAX_ADDRESSES = 64;

/** Resolves a name to all of its addresses. Rejects if the name cannot be resolved. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * Resolves with the system's resolver, including its hosts file. First requests only the address families that this
 * machine has. If that fails, requests all families, because a machine without a network would otherwise get no result.
 */
export const systemResolve: Resolve = (name) => lookUpAll(name, ADDRCONFIG).catch(() => lookUpAll(name, 0));

function lookUpAll(name: string, hints: number): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true, order: 'verbatim', hints }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });
}

export class NameWatch {
  /** The known addresses, sorted and joined. */
  private known = '';
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  /** @param onChange called with all current addresses after a change, never with an empty list. */
  constructor(
    private readonly name: string,
    private readonly resolve: Resolve,
    private readonly onChange: (addresses: readonly LookupAddress[]) => void,
    private readonly intervalMs = RESOLVE_INTERVAL_MS,
  ) {}

  /** Resolves immediately and then periodically, one lookup at a time. */
  start(): void {
    void this.resolveAddresses();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async resolveAddresses(): Promise<void> {
    try {
      this.updateAddresses(await this.resolve(this.name));
    } catch {
      // Keep the known addresses. Calls to an address that no longer works fail, and the address can be ejected.
    }
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.resolveAddresses(), this.intervalMs);
    this.timer.unref();
  }

  private updateAddresses(addresses: readonly LookupAddress[]): void {
    const unique = new Map(addresses.map((address) => [address.address, address]));
    const sorted = [...unique.keys()].toSorted().slice(0, MAX_ADDRESSES);
    const now = sorted.join();
    if (this.stopped || sorted.length === 0 || now === this.known) return;
    this.known = now;
    this.onChange(sorted.flatMap((text) => unique.get(text) ?? []));
  }
}
