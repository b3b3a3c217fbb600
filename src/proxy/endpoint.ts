/** One address that a service is served from: its connections, what is under way there, and how it has been doing. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { ServiceConfig } from '../config/schema.js';
import { ConnectionPool } from '../http1/connection-pool.js';
import { Connector } from '../http1/connector.js';
import type { BackendTls, BackendTlsFiles } from './backend-tls.js';
import type { ReferenceMap } from './public-references.js';
import type { UpstreamOutcome } from './upstream-errors.js';
import type { TargetSeries } from './upstream-metrics.js';

/** How long an idle connection is kept; shorter than what servers usually allow, so that we close first. */
const KEEP_ALIVE_MS = 4_000;

/** `ejected`: failed in a row, and rests. `unhealthy`: fails its health check. */
export type EndpointState = 'healthy' | 'ejected' | 'unhealthy';

/** The last call that failed there. */
export interface LastFailure {
  readonly outcome: UpstreamOutcome;
  /** The backend's status; 0 where there was none. */
  readonly status: number;
  /** By `performance.now()`. */
  readonly atMs: number;
}

export class Endpoint {
  readonly pool: ConnectionPool;
  /** Calls that hold a connection, or are about to. */
  inFlight = 0;
  /** Failures in a row. */
  failures = 0;
  /** When the last of them was counted; belongs to the balancer. */
  failedMs = 0;
  /** What its health check said last; true where there is none. */
  passesChecks = true;
  /** Why a check failed last. */
  checkFailure: string | undefined;
  /** By `performance.now()`; 0: not ejected. */
  ejectedUntilMs = 0;
  /** When a call was last let through to it, or it was ejected; belongs to the balancer. */
  triedMs = 0;
  /** The one call that is let through to it while it is ejected. */
  probe: object | undefined;
  lastFailure: LastFailure | undefined;
  private ejections = 0;
  private returnedMs = -Infinity;
  private map: ReferenceMap | undefined;
  private secureFor: BackendTlsFiles | undefined;
  private secureOptions: ConnectionOptions = {};

  /**
   * @param target what it stands for in lists: origin and path as they are configured.
   * @param series the numbers of the target, which its addresses share.
   * @param prefix path of the target, kept before every path; empty where it has none.
   * @param address where the name of the target leads to; undefined: the target's own host is connected to.
   */
  constructor(
    readonly target: string,
    readonly series: TargetSeries,
    readonly origin: string,
    readonly prefix: string,
    readonly address: LookupAddress | undefined,
    readonly config: ServiceConfig,
    /** For connections over TLS; undefined: the system's authorities and no certificate of our own. */
    readonly tls?: BackendTls,
  ) {
    this.pool = this.connections(config.connections, config.timeouts.connect);
  }

  get state(): EndpointState {
    if (!this.passesChecks) return 'unhealthy';
    return this.ejectedUntilMs > 0 ? 'ejected' : 'healthy';
  }

  get isAvailable(): boolean {
    return this.ejectedUntilMs === 0 && this.passesChecks;
  }

  /** Every connection that it may have is in use. */
  get isFull(): boolean {
    return this.inFlight >= this.config.connections;
  }

  /** Rests for `durationMs`, twice as long the second time, thrice the third, until it has been well for as long as the longest rest. */
  eject(nowMs: number, durationMs: number, longestMs: number): void {
    const wasWell = this.ejectedUntilMs === 0 && nowMs - this.returnedMs > longestMs;
    this.ejections = wasWell ? 1 : this.ejections + 1;
    this.ejectedUntilMs = nowMs + Math.min(durationMs * this.ejections, longestMs);
    this.triedMs = nowMs;
    this.failures = 0;
  }

  /** Is back in service. */
  readmit(nowMs: number): void {
    this.ejectedUntilMs = 0;
    this.failures = 0;
    this.returnedMs = nowMs;
  }

  /** Connections to the address, while `Host` and server name stay those of the target. */
  connections(most: number, connectTimeoutMs: number): ConnectionPool {
    const { origin, address } = this;
    const connector = new Connector({
      origin,
      timeoutMs: connectTimeoutMs,
      lookup: address === undefined ? undefined : lookup(address),
      tls: () => this.secure(),
    });
    return new ConnectionPool(connector, { host: new URL(origin).host, most, idleMs: KEEP_ALIVE_MS });
  }

  /** How references to it become the public's. */
  references(basePath: string): ReferenceMap {
    if (this.map?.basePath !== basePath) this.map = { origin: this.origin, prefix: this.prefix, basePath };
    return this.map;
  }

  /** The same object for as long as the files are the same. */
  private secure(): ConnectionOptions {
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
