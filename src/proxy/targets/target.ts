/** A configured target of a service and its current addresses. */
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { ServiceConfig } from '../../config/model/schema.js';
import type { BackendTls } from './backend-tls.js';
import { Endpoint } from './endpoint.js';
import { HealthCheck } from './health-check.js';
import { NameWatch, type Resolve } from './name-watch.js';
import { TargetSeries } from './upstream-metrics.js';

/** Receives changes of a target. */
export interface TargetListener {
  /** The addresses have changed. */
  onAddresses(): void;
  /** The health check of an address has a result. */
  onCheck(endpoint: Endpoint, passes: boolean): void;
}

export class Target {
  /** Origin and path, as in metrics and lists. */
  readonly label: string;
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
    // Used until the name is resolved, and permanently for IP addresses and localhost.
    this.endpoints = [this.endpoint(undefined)];
    if (isResolved(hostname)) {
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

  /** Closes idle connections immediately, and each of the others after its response. */
  async close(): Promise<void> {
    await Promise.all([...this.endpoints, ...this.closing].map(({ pool }) => pool.close()));
  }

  async destroy(): Promise<void> {
    await Promise.all([...this.endpoints, ...this.closing].map(({ pool }) => pool.destroy()));
  }

  private endpoint(address: LookupAddress | undefined): Endpoint {
    return new Endpoint(this.label, this.series, this.origin, this.prefix, address, this.config, this.tls);
  }

  /** Replaces the addresses. Those that remain keep their connections and state. */
  private updateAddresses(addresses: readonly LookupAddress[]): void {
    const before = this.endpoints;
    this.endpoints = addresses.map(
      (address) => before.find((endpoint) => endpoint.address?.address === address.address) ?? this.endpoint(address),
    );
    this.listener.onAddresses();
    for (const endpoint of before) if (!this.endpoints.includes(endpoint)) this.retire(endpoint);
    for (const endpoint of this.endpoints) if (!before.includes(endpoint)) this.startCheck(endpoint);
  }

  private retire(endpoint: Endpoint): void {
    this.checks.get(endpoint)?.stop();
    this.checks.delete(endpoint);
    this.closing.add(endpoint);
    const forget = (): void => void this.closing.delete(endpoint);
    endpoint.pool.close().then(forget, forget);
  }

  private startCheck(endpoint: Endpoint): void {
    const { health } = this.config;
    if (health === undefined) return;
    const check = new HealthCheck(endpoint, health, (passes) => this.listener.onCheck(endpoint, passes));
    this.checks.set(endpoint, check);
    check.start();
  }
}

/** Reports whether a host must be resolved. `localhost` is this machine, in whichever address family it listens. */
function isResolved(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 && host !== 'localhost' && !host.endsWith('.localhost');
}
