/** One address that a service is served from: its connections, what is under way there, and how it has been doing. */
import type { LookupAddress } from 'node:dns';
import { Pool, type buildConnector } from 'undici';
import type { ServiceConfig } from '../config/schema.js';
import type { BackendTls } from './backend-tls.js';
import { backendConnector } from './connector.js';
import type { UpstreamOutcome } from './upstream-errors.js';
import type { TargetSeries } from './upstream-metrics.js';

/** How long an idle connection is kept; shorter than what servers usually allow, so that we close first. */
const KEEP_ALIVE_MS = 4_000;
const LARGEST_RESPONSE_HEAD_BYTES = 64 * 1024;

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
  readonly pool: Pool;
  /** Calls that hold a connection, or are about to. */
  inFlight = 0;
  /** Failures in a row. */
  failures = 0;
  /** When the last of them was counted; belongs to the balancer. */
  failedMs = 0;
  /** What its health check said last; true where there is none. */
  passesChecks = true;
  /** By `performance.now()`; 0: not ejected. */
  ejectedUntilMs = 0;
  /** When a call was last let through to it, or it was ejected; belongs to the balancer. */
  triedMs = 0;
  /** The one call that is let through to it while it is ejected. */
  probe: object | undefined;
  lastFailure: LastFailure | undefined;
  private ejections = 0;
  private returnedMs = -Infinity;

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
    this.pool = new Pool(origin, {
      connections: config.connections,
      pipelining: 1,
      connect: this.connector(config.timeouts.connect),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Deadlines are ours (`Deadlines`): undici's run from the start of a request, also while a large body is sent.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: LARGEST_RESPONSE_HEAD_BYTES,
    });
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

  /** Makes connections: to the address, while Host and server name stay those of the target. */
  connector(timeoutMs: number): buildConnector.connector {
    return backendConnector(this.address, timeoutMs, this.tls);
  }
}
