/** Resolves a host name periodically. The known addresses stay in use while resolution fails. */
import { ADDRCONFIG, lookup, type LookupAddress } from 'node:dns';

const RESOLVE_INTERVAL_MS = 10_000;
/** Further addresses of a name are not used. */
const MOST_ADDRESSES = 64;

/** Resolves a name to all of its addresses. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * Resolves by the system, including its hosts file. Prefers address families that this machine has. Retries with all
 * families, because a machine without a network would get no result.
 */
export const systemResolve: Resolve = (name) => lookedUp(name, ADDRCONFIG).catch(() => lookedUp(name, 0));

function lookedUp(name: string, hints: number): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, { all: true, order: 'verbatim', hints }, (error, addresses) =>
      error === null ? resolve(addresses) : reject(error),
    );
  });
}

export class NameWatch {
  private known = '';
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  /** Creates a watch. @param onChange called with the new addresses, never with an empty list. */
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
      // The known addresses stay. Calls to a dead one fail by themselves.
    }
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.resolveAddresses(), this.intervalMs);
    this.timer.unref();
  }

  private updateAddresses(addresses: readonly LookupAddress[]): void {
    const unique = new Map(addresses.map((address) => [address.address, address]));
    const sorted = [...unique.keys()].toSorted().slice(0, MOST_ADDRESSES);
    const now = sorted.join();
    if (this.stopped || sorted.length === 0 || now === this.known) return;
    this.known = now;
    this.onChange(sorted.flatMap((text) => unique.get(text) ?? []));
  }
}
