/** The networks that may ask for health and metrics, and those that may act as an operator. */
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { NetworkList } from '../../platform/network-list.js';

/** AdminNetworks follows the configuration: a changed list holds from the next request on. */
export class AdminNetworks {
  private readonly lists = new WeakMap<readonly string[], NetworkList>();

  /** @param settings those in force. */
  constructor(private readonly settings: () => Pick<AdminConfig, 'healthNetworks' | 'operatorNetworks'>) {}

  /** Whether an address may ask for /livez, /readyz and /metrics. */
  mayAskForHealth(address: string): boolean {
    return this.holds(this.settings().healthNetworks, address);
  }

  /** Whether an address may act as an operator, with the operators' token or as a member who is one. */
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
