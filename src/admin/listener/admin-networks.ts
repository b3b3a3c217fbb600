/** Networks that can read health and metrics, and networks that can act as operators. */
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { NetworkList } from '../../platform/network-list.js';

/** AdminNetworks follows the configuration: changes apply from the next request. */
export class AdminNetworks {
  private readonly lists = new WeakMap<readonly string[], NetworkList>();

  /** @param settings returns the current settings. */
  constructor(private readonly settings: () => Pick<AdminConfig, 'healthNetworks' | 'operatorNetworks'>) {}

  /** Reports whether an address may read /livez, /readyz and /metrics. */
  mayAskForHealth(address: string): boolean {
    return this.holds(this.settings().healthNetworks, address);
  }

  /** Reports whether an address may act as an operator, by token or as a member. */
  mayOperate(address: string): boolean {
    return this.holds(this.settings().operatorNetworks, address);
  }

  private holds(networks: readonly string[] | undefined, address: string): boolean {
    if (networks === undefined) return true;
    let list = this.lists.get(networks);
    if (list === undefined) this.lists.set(networks, (list = NetworkList.of(networks)));
    return list.holds(address);
  }
}
