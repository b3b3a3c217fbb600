/** One address that a service is served from: its connections, what is under way there, and how it has been doing. */
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { ServiceConfig } from '../../config/model/schema.js';
import { ConnectionPool } from '../../http/backend/connection-pool.js';
import { Connector } from '../../http/backend/connector.js';
import type { BackendTls, BackendTlsFiles } from './backend-tls.js';
import { USUAL_EJECTION } from './ejection.js';
import { OutcomeWindow } from './outcome-window.js';
import type { ReferenceMap } from './public-references.js';
import type { UpstreamOutcome } from './upstream-errors.js';
import type { TargetSeries } from './upstream-metrics.js';

/** How long an idle connection is kept; shorter than what servers usually allow, so that we close first. */
const KEEP_ALIVE_MS = 4_000;
/** After so many the longest rest is reached, whatever it is; more would be no number. */
const MOST_DOUBLINGS = 32;

/** An address counts as failing after so many failed calls in a row. */
const FAILING_AFTER = 3;
/** So much time lies between the first and the last of them, unless there was no connection: a caller can be slow. */
const FAILING_SPAN_MS = 5_000;
/** It counts as failing for so long after the last of them. Later it may be well again. */
const FAILING_FOR_MS = 120_000;

/**
 * `failing`: in service, and its last calls failed. `ejected`: failed in a row or too often, and rests. `unhealthy`:
 * fails its health check.
 */
export type EndpointState = 'healthy' | 'failing' | 'ejected' | 'unhealthy';

/** The last call that failed there. */
export interface LastFailure {
  readonly outcome: UpstreamOutcome;
  /** The backend's status; 0 where there was none. */
  readonly status: number;
  /** Time by `performance.now()`. */
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
  /** By `performance.now()`; when the checks can say at the earliest that it is well, while they say that it is not. */
  checksPassFromMs = 0;
  /** By `performance.now()`; 0: not ejected. Its rest is over then, and a call may try it. */
  ejectedUntilMs = 0;
  /** When a call was last let through to it in vain, or it was ejected; belongs to the balancer, like the next. */
  triedMs = 0;
  /** How many calls were let through to it in vain since it was in service. */
  tries = 0;
  /** The one call that is let through to it while it is ejected. */
  probe: object | undefined;
  lastFailure: LastFailure | undefined;
  /** How its latest calls went. */
  readonly recent: OutcomeWindow;
  /** Calls that failed since the last that went well. */
  private failedInRow = 0;
  private firstFailedMs = 0;
  private failedAtMs = 0;
  /** Calls that failed in a row, by status or outcome. */
  private readonly failed = new Map<string, number>();
  private ejections = 0;
  /** Whether its checks have ended a rest of it since it was well last. */
  private restWasCut = false;
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
    this.recent = new OutcomeWindow((config.ejection ?? USUAL_EJECTION).window);
    this.pool = this.connections(config.connections, config.timeouts.connect);
  }

  get state(): EndpointState {
    if (!this.passesChecks) return 'unhealthy';
    if (this.ejectedUntilMs > 0) return 'ejected';
    return this.isFailing ? 'failing' : 'healthy';
  }

  private get isFailing(): boolean {
    return this.failsThroughout && performance.now() - this.failedAtMs < FAILING_FOR_MS;
  }

  /** Whether the calls that failed since the last that went well are enough to say that every call fails. */
  get failsThroughout(): boolean {
    const { failed, failedInRow, failedAtMs, firstFailedMs } = this;
    if (failedInRow < FAILING_AFTER) return false;
    const isUnreached = failed.has('unreachable') || failed.has('connect_timeout');
    return isUnreached || failedAtMs - firstFailedMs >= FAILING_SPAN_MS;
  }

  get isAvailable(): boolean {
    return this.ejectedUntilMs === 0 && this.passesChecks;
  }

  /** Every connection that it may have is in use. */
  get isFull(): boolean {
    return this.inFlight >= this.config.connections;
  }

  /**
   * Rests for `durationMs`, each further time twice as long, at most `longestMs`; it begins anew
   * once it has been well for that long.
   */
  eject(nowMs: number, durationMs: number, longestMs: number): void {
    const wasWell = this.ejectedUntilMs === 0 && nowMs - this.returnedMs > longestMs;
    this.ejections = wasWell ? 1 : Math.min(this.ejections + 1, MOST_DOUBLINGS);
    if (wasWell) this.restWasCut = false;
    this.ejectedUntilMs = nowMs + Math.min(durationMs * 2 ** (this.ejections - 1), longestMs);
    this.triedMs = nowMs;
    this.failures = 0;
  }

  /** Is back in service. */
  readmit(nowMs: number): void {
    this.ejectedUntilMs = 0;
    this.tries = 0;
    this.returnedMs = nowMs;
    this.recent.clear();
    this.succeeded();
  }

  /**
   * Ends a rest: its checks failed and pass again, so something has changed. Only once until it has been well again:
   * checks that come and go would have it tried all the time.
   */
  cutRest(nowMs: number): void {
    if (this.ejectedUntilMs <= nowMs || this.restWasCut) return;
    this.restWasCut = true;
    this.ejectedUntilMs = nowMs;
  }

  /** Takes note of a call that failed there. Returns whether every call fails from this one on. */
  noteFailure(failure: LastFailure): boolean {
    const wasFailing = this.failsThroughout;
    this.lastFailure = failure;
    this.failedAtMs = failure.atMs;
    if (this.failedInRow++ === 0) this.firstFailedMs = failure.atMs;
    const name = failure.status > 0 && failure.outcome === 'answered' ? String(failure.status) : failure.outcome;
    this.failed.set(name, (this.failed.get(name) ?? 0) + 1);
    return !wasFailing && this.failsThroughout;
  }

  /** A call went well: what failed before it is no row any more. */
  succeeded(): void {
    this.failures = 0;
    this.failedInRow = 0;
    // Clearing a map makes a new table, also where it is empty, and most calls succeed.
    if (this.failed.size > 0) this.failed.clear();
  }

  /** How many calls have failed since the last that went well, by status of the backend, else by outcome. */
  get failedCalls(): Record<string, number> {
    return Object.fromEntries(this.failed);
  }

  /** Connections to the address, while `Host` and server name stay those of the target. */
  connections(maxConnections: number, connectTimeoutMs: number): ConnectionPool {
    const { origin, address } = this;
    const connector = new Connector({
      origin,
      timeoutMs: connectTimeoutMs,
      lookup: address === undefined ? undefined : lookup(address),
      tls: () => this.secure(),
    });
    return new ConnectionPool(connector, { host: new URL(origin).host, maxConnections, idleMs: KEEP_ALIVE_MS });
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
