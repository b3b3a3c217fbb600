/** One address of a service: its connections, calls in progress, and health. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { ServiceConfig } from '../../config/model/schema.js';
import { ConnectionPool } from '../../http/backend/connection-pool.js';
import { Connector } from '../../http/backend/connector.js';
import type { BackendTls, BackendTlsFiles } from './backend-tls.js';
import { DEFAULT_EJECTION } from './ejection.js';
import { OutcomeWindow } from './outcome-window.js';
import type { ReferenceMap } from './public-references.js';
import type { UpstreamOutcome } from './upstream-errors.js';
import type { TargetSeries } from './upstream-metrics.js';

/** How long idle connections are kept. Shorter than most servers allow, so that the gateway closes first. */
const KEEP_ALIVE_MS = 4_000;
/** Limit for doublings of the ejection time. It is reached long before and avoids an overflow. */
const MOST_DOUBLINGS = 32;

/** Consecutive failed calls after which an address counts as failing. */
const FAILING_AFTER = 3;
/**
 * Minimum time between the first and the last of them, because a slow caller can cause failures too. Not needed if no
 * connection was possible.
 */
const FAILING_SPAN_MS = 5_000;
/** How long the state lasts after the last failure. Later the address may have recovered. */
const FAILING_FOR_MS = 120_000;

/**
 * Health of an address. `failing`: in service, but its latest calls failed. `ejected`: temporarily out of service after
 * failed calls. `unhealthy`: fails its health check.
 */
export type EndpointState = 'healthy' | 'failing' | 'ejected' | 'unhealthy';

/** The latest failed call. */
export interface LastFailure {
  readonly outcome: UpstreamOutcome;
  /** The backend's status; 0 for none. */
  readonly status: number;
  /** Time by `performance.now()`. */
  readonly atMs: number;
}

export class Endpoint {
  readonly pool: ConnectionPool;
  /** Calls that hold a connection or have booked one. */
  inFlight = 0;
  /** Consecutive failures, for ejection. */
  failures = 0;
  /** Time of the latest one. Owned by the balancer. */
  failedMs = 0;
  /** Latest health check result; true without a health check. */
  passesChecks = true;
  /** Reason of the latest failed check. */
  checkFailure: string | undefined;
  /** Earliest time at which the health check can pass, while it fails. By `performance.now()`. */
  checksPassFromMs = 0;
  /** End of the ejection, after which a probe may be sent. By `performance.now()`; 0 if not ejected. */
  ejectedUntilMs = 0;
  /** Time of the ejection or of the latest probe. Owned by the balancer, like `tries`. */
  triedMs = 0;
  /** Failed probes since the address was in service. */
  tries = 0;
  /** The probe in progress. */
  probe: object | undefined;
  lastFailure: LastFailure | undefined;
  /** Results of recent calls. */
  readonly recent: OutcomeWindow;
  /** Consecutive failed calls, for the state `failing`. */
  private failedInRow = 0;
  private firstFailedMs = 0;
  private failedAtMs = 0;
  /** Consecutive failed calls by status or outcome. */
  private readonly failed = new Map<string, number>();
  private ejections = 0;
  /** Whether the health check has already ended an ejection early since the address last recovered. */
  private restWasCut = false;
  private returnedMs = -Infinity;
  private map: ReferenceMap | undefined;
  private secureFor: BackendTlsFiles | undefined;
  private secureOptions: ConnectionOptions = {};

  /**
   * Creates an address.
   * @param target label in lists and metrics: configured origin and path.
   * @param series metrics of the target, shared by its addresses.
   * @param prefix path of the target, put before every path; may be empty.
   * @param address resolved address; undefined connects to the target's host.
   */
  constructor(
    readonly target: string,
    readonly series: TargetSeries,
    readonly origin: string,
    readonly prefix: string,
    readonly address: LookupAddress | undefined,
    readonly config: ServiceConfig,
    /** TLS settings; undefined uses the system's authorities and no client certificate. */
    readonly tls?: BackendTls,
  ) {
    this.recent = new OutcomeWindow((config.ejection ?? DEFAULT_EJECTION).window);
    this.pool = this.createPool(config.connections, config.timeouts.connect);
  }

  get state(): EndpointState {
    if (!this.passesChecks) return 'unhealthy';
    if (this.ejectedUntilMs > 0) return 'ejected';
    return this.isFailing ? 'failing' : 'healthy';
  }

  private get isFailing(): boolean {
    return this.failsThroughout && performance.now() - this.failedAtMs < FAILING_FOR_MS;
  }

  /** Whether the consecutive failures are enough to conclude that every call fails. */
  get failsThroughout(): boolean {
    const { failed, failedInRow, failedAtMs, firstFailedMs } = this;
    if (failedInRow < FAILING_AFTER) return false;
    const isUnreached = failed.has('unreachable') || failed.has('connect_timeout');
    return isUnreached || failedAtMs - firstFailedMs >= FAILING_SPAN_MS;
  }

  get isAvailable(): boolean {
    return this.ejectedUntilMs === 0 && this.passesChecks;
  }

  /** Whether all permitted connections are in use. */
  get isFull(): boolean {
    return this.inFlight >= this.config.connections;
  }

  /**
   * Ejects the address for `durationMs`. The time doubles with each ejection up to `longestMs`, and starts anew after
   * the address was in service for `longestMs`.
   */
  eject(nowMs: number, durationMs: number, longestMs: number): void {
    const wasWell = this.ejectedUntilMs === 0 && nowMs - this.returnedMs > longestMs;
    this.ejections = wasWell ? 1 : Math.min(this.ejections + 1, MOST_DOUBLINGS);
    if (wasWell) this.restWasCut = false;
    this.ejectedUntilMs = nowMs + Math.min(durationMs * 2 ** (this.ejections - 1), longestMs);
    this.triedMs = nowMs;
    this.failures = 0;
  }

  /** Returns the address to service. */
  readmit(nowMs: number): void {
    this.ejectedUntilMs = 0;
    this.tries = 0;
    this.returnedMs = nowMs;
    this.recent.clear();
    this.recordSuccess();
  }

  /**
   * Ends an ejection early, because the health check has recovered. Allowed once per outage, so that an unstable check
   * does not cause constant probes.
   */
  endEjectionEarly(nowMs: number): void {
    if (this.ejectedUntilMs <= nowMs || this.restWasCut) return;
    this.restWasCut = true;
    this.ejectedUntilMs = nowMs;
  }

  /** Records a failed call. Returns whether the address begins to count as failing. */
  recordFailure(failure: LastFailure): boolean {
    const wasFailing = this.failsThroughout;
    this.lastFailure = failure;
    this.failedAtMs = failure.atMs;
    if (this.failedInRow++ === 0) this.firstFailedMs = failure.atMs;
    const name = failure.status > 0 && failure.outcome === 'answered' ? String(failure.status) : failure.outcome;
    this.failed.set(name, (this.failed.get(name) ?? 0) + 1);
    return !wasFailing && this.failsThroughout;
  }

  /** Resets the consecutive failures after a successful call. */
  recordSuccess(): void {
    this.failures = 0;
    this.failedInRow = 0;
    // Clearing allocates a new table even for an empty map, and most calls succeed.
    if (this.failed.size > 0) this.failed.clear();
  }

  /** Counts of consecutive failed calls, by the backend's status or else by outcome. */
  get failedCalls(): Record<string, number> {
    return Object.fromEntries(this.failed);
  }

  /** Creates a pool of connections to the address. `Host` and TLS server name stay those of the target. */
  createPool(maxConnections: number, connectTimeoutMs: number): ConnectionPool {
    const { origin, address } = this;
    const connector = new Connector({
      origin,
      timeoutMs: connectTimeoutMs,
      lookup: address === undefined ? undefined : lookup(address),
      tls: () => this.tlsOptions(),
    });
    return new ConnectionPool(connector, { host: new URL(origin).host, maxConnections, idleMs: KEEP_ALIVE_MS });
  }

  /** Returns the mapping from references to this target to public ones. */
  references(basePath: string): ReferenceMap {
    if (this.map?.basePath !== basePath) this.map = { origin: this.origin, prefix: this.prefix, basePath };
    return this.map;
  }

  /** Returns TLS options. The object is the same until the files change. */
  private tlsOptions(): ConnectionOptions {
    const { tls } = this;
    if (tls !== undefined && this.secureFor !== tls.current) {
      this.secureFor = tls.current;
      this.secureOptions = { ...tls.current, ...tls.serverName };
    }
    return this.secureOptions;
  }
}

function lookup(address: LookupAddress): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) callback(null, [address]);
    else callback(null, address.address, address.family);
  };
}
