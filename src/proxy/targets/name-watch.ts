/** Follows the addresses behind a name. What is known stays while the name cannot be resolved. */
import { ADDRCONFIG, lookup, type LookupAddress } from 'node:dns';

const RESOLVE_INTERVAL_MS = 10_000;
/** More addresses of one name than these are not used. */
const MOST_ADDRESSES = 64;

/** Every address of a name, as the system resolves it. */
export type Resolve = (name: string) => Promise<readonly LookupAddress[]>;

/**
 * By the system, its hosts file included; families that this machine has no address of are left out, unless nothing
 * would be left: a machine without a network has its own addresses alone, which do not count.
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

  /** @param onChange called with the addresses when they are others than before; never with none. */
  constructor(
    private readonly name: string,
    private readonly resolve: Resolve,
    private readonly onChange: (addresses: readonly LookupAddress[]) => void,
    private readonly intervalMs = RESOLVE_INTERVAL_MS,
  ) {}

  /** Resolves at once and then again and again, one look-up at a time. */
  start(): void {
    void this.look();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async look(): Promise<void> {
    try {
      this.take(await this.resolve(this.name));
    } catch {
      // The addresses that are known stay; a call to one that is dead says so itself.
    }
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.look(), this.intervalMs);
    this.timer.unref();
  }

  private take(addresses: readonly LookupAddress[]): void {
    const unique = new Map(addresses.map((address) => [address.address, address]));
    const sorted = [...unique.keys()].toSorted().slice(0, MOST_ADDRESSES);
    const now = sorted.join();
    if (this.stopped || sorted.length === 0 || now === this.known) return;
    this.known = now;
    this.onChange(sorted.flatMap((text) => unique.get(text) ?? []));
  }
}
