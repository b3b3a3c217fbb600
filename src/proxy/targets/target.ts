/**
 * Target is a configured target of a service, with its current addresses, name resolution and health checks. While the
 * name cannot be resolved, the known addresses stay in use.
 */
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { ServiceConfig } from '../../config/model/schema.js';
import type { BackendTls } from './backend-tls.js';
import { Endpoint } from './endpoint.js';
import { HealthCheck } from './health-check.js';
import { NameWatch, type Resolve } from './name-watch.js';
import { TargetSeries } from './upstream-metrics.js';

/** TargetListener receives the changes of a target. */
export interface TargetListener {
  /** Called when the addresses have changed. */
  onAddresses(): void;
  /** Called with a result of the health check of an address. */
  onCheck(endpoint: Endpoint, passes: boolean): void;
}

export class Target {
  /** Configured origin and path, as shown in metrics and lists. */
  readonly label: string;
  /** The current addresses. */
  endpoints: readonly Endpoint[];
  private readonly series: TargetSeries;
  private readonly origin: string;
  private readonly prefix: string;
  private readonly watch: NameWatch | undefined;
  private readonly checks = new Map<Endpoint, HealthCheck>();
  /** Removed addresses whose calls are still in progress. */
  private readonly closing = new Set<Endpoint>();

  constructor(
    service: string,
    url: string,
    private readonly config: ServiceConfig,
    private readonly listener: TargetListener,
    resolve: Resolve,
    resolveIntervalMs?: number,
    private readonly tls?: BackendTls,
  ) {
    const { origin, pathname, hostname } = new URL(url);
    this.origin = origin;
    this.prefix = pathname.replace(/\/$/, '');
    this.label = origin + this.prefix;
    this.series = new TargetSeries(service, this.label);
    // The endpoint without an address is used until the name is resolved, and permanently for IP addresses and
    // localhost.
    this.endpoints = [this.createEndpoint(undefined)];
    if (needsResolution(hostname)) {
      this.watch = new NameWatch(hostname, resolve, (addresses) => this.updateAddresses(addresses), resolveIntervalMs);
    }
  }

  /** Starts name resolution and health checks. */
  start(): void {
    for (const endpoint of this.endpoints) this.startCheck(endpoint);
    this.watch?.start();
  }

  /** Stops name resolution and health checks. */
  stop(): void {
    this.watch?.stop();
    for (const check of this.checks.values()) check.stop();
  }

  /** Closes idle connections immediately, and each busy connection after its response. */
  async close(): Promise<void> {
    await Promise.all([...this.endpoints, ...this.closing].map(({ pool }) => pool.close()));
  }

  /** Closes all connections immediately. */
  async destroy(): Promise<void> {
    await Promise.all([...this.endpoints, ...this.closing].map(({ pool }) => pool.destroy()));
  }

  private createEndpoint(address: LookupAddress | undefined): Endpoint {
    return new Endpoint(this.label, this.series, this.origin, this.prefix, address, this.config, this.tls);
  }

  /** Replaces the addresses. Remaining addresses keep their connections and state. */
  private updateAddresses(addresses: readonly LookupAddress[]): void {
    const before = this.endpoints;
    this.endpoints = addresses.map(
      (address) =>
        before.find((endpoint) => endpoint.address?.address === address.address) ?? this.createEndpoint(address),
    );
    this.listener.onAddresses();
    for (const endpoint of before) if (!this.endpoints.includes(endpoint)) this.retire(endpoint);
    for (const endpoint of this.endpoints) if (!before.includes(endpoint)) this.startCheck(endpoint);
  }

  /** Closes a removed address after its calls in progress have ended. */
  private retire(endpoint: Endpoint): void {
    this.checks.get(endpoint)?.stop();
    this.checks.delete(endpoint);
    this.closing.add(endpoint);
    const removeEndpoint = (): void => void this.closing.delete(endpoint);
    endpoint.pool.close().then(removeEndpoint, removeEndpoint);
  }

  private startCheck(endpoint: Endpoint): void {
    const { health } = this.config;
    if (health === undefined) return;
    const check = new HealthCheck(endpoint, health, (passes) => this.listener.onCheck(endpoint, passes));
    this.checks.set(endpoint, check);
    check.start();
  }
}

/**
 * Reports whether a host must be resolved. `localhost` need not, because the connection tries both address families.
 */
function needsResolution(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 && host !== 'localhost' && !host.endsWith('.localhost');
}
