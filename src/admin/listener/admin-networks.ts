/** Checks which networks may read health and metrics, and which may act as operators. */
import type { AdminConfig } from '../../config/model/admin-schema.js';
import { NetworkList } from '../../platform/network-list.js';

/**
 * AdminNetworks checks addresses against `admin.healthNetworks` and `admin.operatorNetworks` of the current
 * configuration. A list that is not configured allows every address.
 */
export class AdminNetworks {
  private readonly lists = new WeakMap<readonly string[], NetworkList>();

  /** @param settings returns the current settings. */
  constructor(private readonly settings: () => Pick<AdminConfig, 'healthNetworks' | 'operatorNetworks'>) {}

  /** Reports whether an address may read /livez, /readyz and /metrics. */
  mayReadHealth(address: string): boolean {
    return this.holds(this.settings().healthNetworks, address);
  }

  /**
   * Reports whether an address may act as an operator: with the operator token, or as a member with operator rights.
   */
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
