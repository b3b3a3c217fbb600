/** Endpoint is one address of a service: its connections, calls in progress, and health. */
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

/**
 * Time after which the gateway closes an idle connection. Shorter than on most servers, so that the server does not
 * close the connection first.
 */
const KEEP_ALIVE_MS = 4_000;
/**
 * Maximum number of doublings of the ejection time, to avoid an overflow. The limit `longestMs` applies long before.
 */
const MAX_DOUBLINGS = 32;

/** Consecutive failed calls after which an address counts as failing. */
const FAILING_AFTER = 3;
/**
 * Minimum time between the first and the last of these failures, because one slow caller can cause failures, too. Does
 * not apply if no connection could be opened.
 */
const FAILING_SPAN_MS = 5_000;
/** Time for which an address counts as failing after its latest failure. After that, the address may have recovered. */
const FAILING_FOR_MS = 120_000;

/**
 * Health of an address. `failing`: in service, but its latest calls failed. `ejected`: temporarily out of service after
 * failed calls. `unhealthy`: fails its health check.
 */
export type EndpointState = 'healthy' | 'failing' | 'ejected' | 'unhealthy';

/** The latest call to an address that failed, or that had a 5xx response. */
export interface LastFailure {
  readonly outcome: UpstreamOutcome;
  /** The backend's status; 0 without a response. */
  readonly status: number;
  /** Time by `performance.now()`. */
  readonly atMs: number;
}

export class Endpoint {
  readonly pool: ConnectionPool;
  /** Calls that hold a connection or have booked one. */
  inFlight = 0;
  /** Number of consecutive failures, for ejection. */
  failures = 0;
  /** Time of the latest failure that counts for ejection. The balancer owns this field. */
  failedMs = 0;
  /** Latest health check result; true without a health check. */
  passesChecks = true;
  /** Reason for the latest failed health check. */
  checkFailure: string | undefined;
  /** Earliest time at which a failing health check can pass, by `performance.now()`. */
  checksPassFromMs = 0;
  /** End of the ejection, by `performance.now()`; 0 if not ejected. After this time, the balancer may send a probe. */
  ejectedUntilMs = 0;
  /** Time of the ejection or of the latest probe. The balancer owns this field and `tries`. */
  triedMs = 0;
  /** Number of failed probes since the address was last in service. */
  tries = 0;
  /** The call that is the current probe; undefined if none is in progress. */
  probe: object | undefined;
  lastFailure: LastFailure | undefined;
  /** Results of recent calls. */
  readonly recent: OutcomeWindow;
  /** Number of consecutive failed calls, for the state `failing`. */
  private failedInRow = 0;
  private firstFailedMs = 0;
  private failedAtMs = 0;
  /** Number of consecutive failed calls by status, or by outcome without a response. */
  private readonly failed = new Map<string, number>();
  /** Number of ejections since the address was last in service for the longest ejection time. */
  private ejections = 0;
  /** Whether the health check has already ended an ejection early since `ejections` was last reset. */
  private hasEndedEarly = false;
  /** Time of the latest return to service, by `performance.now()`. */
  private returnedMs = -Infinity;
  private mapping: ReferenceMap | undefined;
  /** Files from which `cachedTlsOptions` was created. */
  private tlsOptionsSource: BackendTlsFiles | undefined;
  private cachedTlsOptions: ConnectionOptions = {};

  /**
   * @param target label in lists and metrics: configured origin and path.
   * @param series metrics of the target, shared by all of its addresses.
   * @param prefix path of the target, prepended to every request path; may be empty.
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
   * Ejects the address for `durationMs`. The time doubles with each ejection, up to `longestMs`. The doubling starts
   * again after the address was in service for more than `longestMs`.
   */
  eject(nowMs: number, durationMs: number, longestMs: number): void {
    const wasHealthyLong = this.ejectedUntilMs === 0 && nowMs - this.returnedMs > longestMs;
    this.ejections = wasHealthyLong ? 1 : Math.min(this.ejections + 1, MAX_DOUBLINGS);
    if (wasHealthyLong) this.hasEndedEarly = false;
    this.ejectedUntilMs = nowMs + Math.min(durationMs * 2 ** (this.ejections - 1), longestMs);
    this.triedMs = nowMs;
    this.failures = 0;
  }

  /** Returns the address to service after a successful probe, and clears its recent results. */
  readmit(nowMs: number): void {
    this.ejectedUntilMs = 0;
    this.tries = 0;
    this.returnedMs = nowMs;
    this.recent.clear();
    this.recordSuccess();
  }

  /**
   * Ends an ejection early, because the health check has recovered. A probe is then due. This happens only once per
   * outage, so that an unstable health check does not cause constant probes.
   */
  endEjectionEarly(nowMs: number): void {
    if (this.ejectedUntilMs <= nowMs || this.hasEndedEarly) return;
    this.hasEndedEarly = true;
    this.ejectedUntilMs = nowMs;
  }

  /** Records a failed call. Returns whether the address counts as failing from this call on. */
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

  /** Creates a pool of connections to the address. The connections use `Host` and TLS server name of the target. */
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

  /** Returns the map that converts references to this target into public references. */
  references(basePath: string): ReferenceMap {
    if (this.mapping?.basePath !== basePath) this.mapping = { origin: this.origin, prefix: this.prefix, basePath };
    return this.mapping;
  }

  /** Returns the TLS options. Returns the same object until the TLS files change. */
  private tlsOptions(): ConnectionOptions {
    const { tls } = this;
    if (tls !== undefined && this.tlsOptionsSource !== tls.current) {
      this.tlsOptionsSource = tls.current;
      this.cachedTlsOptions = { ...tls.current, ...tls.serverName };
    }
    return this.cachedTlsOptions;
  }
}

function lookup(address: LookupAddress): LookupFunction {
  return (_host, options, callback) => {
    if (options.all === true) callback(null, [address]);
    else callback(null, address.address, address.family);
  };
}
