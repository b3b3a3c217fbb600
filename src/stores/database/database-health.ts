/**
 * Tracks whether the database responds and accepts writes, so that callers know without waiting. A background probe
 * checks both. Regular writes count as well, because a full disk may still accept the probe's single row.
 */
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { DatabaseHandle } from './connect.js';

const PROBE_INTERVAL_MS = 1_000;
/** Time without a response after which the database counts as lost. It equals the deadline of all other statements. */
const PROBE_DEADLINE_MS = 2_000;
/** The probe writes a row if there has been no other write for this time. */
const WRITE_INTERVAL_MS = 10_000;

/** WriteWitness learns from regular writes whether the database accepts writes. */
export interface WriteWitness {
  recordWrite(): void;
  recordWriteFailure(error: unknown): void;
}

/** DatabaseState is the last known state. `sinceMs` is the wall-clock time of the first failure, in milliseconds. */
export type DatabaseState =
  | { readonly kind: 'up' }
  | { readonly kind: 'unreachable' | 'unwritable'; readonly sinceMs: number; readonly cause: string };

interface Failure {
  readonly sinceMs: number;
  readonly cause: string;
}

export class DatabaseHealth implements WriteWitness {
  private unreachable: Failure | undefined;
  private probeFailure: Failure | undefined;
  private writeFailure: Failure | undefined;
  private loggedKind: DatabaseState['kind'] = 'up';
  private wroteAtMs = -Infinity;
  private isProbing = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Pick<DatabaseHandle, 'ping' | 'checkWrites'>,
    private readonly clock: Clock,
    private readonly log: Pick<Logger, 'error' | 'warn'>,
    private readonly probeDeadlineMs = PROBE_DEADLINE_MS,
  ) {}

  readGauges(): void {
    METRICS.databaseUp.series('read').set(this.state.kind === 'unreachable' ? 0 : 1);
    METRICS.databaseUp.series('write').set(this.state.kind === 'up' ? 1 : 0);
  }

  /** Starts probing, now and every second. */
  start(): void {
    this.timer = setInterval(() => void this.probe(), PROBE_INTERVAL_MS);
    this.timer.unref();
    void this.probe();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Returns the last known state, without a query. */
  get state(): DatabaseState {
    if (this.unreachable !== undefined) return { kind: 'unreachable', ...this.unreachable };
    const refused = this.writeFailure ?? this.probeFailure;
    return refused === undefined ? { kind: 'up' } : { kind: 'unwritable', ...refused };
  }

  recordWrite(): void {
    this.wroteAtMs = performance.now();
    this.writeFailure = undefined;
    this.logChange();
  }

  /**
   * Records a failed write. Only a successful regular write clears the failure. The probe writes too little to prove
   * that writes succeed again.
   */
  recordWriteFailure(error: unknown): void {
    // While the database is unreachable, failed writes give no further information.
    if (this.unreachable === undefined) this.writeFailure = this.describeFailure(error, this.writeFailure);
    this.logChange();
  }

  /** Probes once, unless a probe is running. Resolves when the state is known. Never rejects. */
  async probe(): Promise<void> {
    if (this.isProbing) return;
    this.isProbing = true;
    const { probeDeadlineMs } = this;
    const late = setTimeout(
      () => this.markUnreachable(new Error(`no response within ${probeDeadlineMs} ms`)),
      probeDeadlineMs,
    );
    late.unref();
    try {
      await this.database.ping();
      this.unreachable = undefined;
    } catch (error) {
      this.markUnreachable(error);
    } finally {
      clearTimeout(late);
    }
    if (this.unreachable === undefined) await this.probeWrite();
    this.isProbing = false;
    this.logChange();
  }

  private async probeWrite(): Promise<void> {
    const isFresh = performance.now() - this.wroteAtMs < WRITE_INTERVAL_MS;
    if (isFresh && this.probeFailure === undefined) return;
    try {
      await this.database.checkWrites();
      this.wroteAtMs = performance.now();
      this.probeFailure = undefined;
    } catch (error) {
      this.probeFailure = this.describeFailure(error, this.probeFailure);
    }
  }

  private markUnreachable(error: unknown): void {
    this.unreachable = this.describeFailure(error, this.unreachable);
    this.probeFailure = undefined;
    this.writeFailure = undefined;
    this.wroteAtMs = -Infinity;
    this.logChange();
  }

  /** Returns a failure with the time of the first error and the message of the latest. */
  private describeFailure(error: unknown, before: Failure | undefined): Failure {
    return {
      sinceMs: before?.sinceMs ?? this.clock.now(),
      cause: error instanceof Error ? error.message : String(error),
    };
  }

  /** Logs a change of the state. Logs nothing after `stop`, because the database is being closed then. */
  private logChange(): void {
    const { state } = this;
    if (state.kind === this.loggedKind || this.timer === undefined) return;
    this.loggedKind = state.kind;
    if (state.kind === 'up') {
      this.log.warn({ event: 'database_back' }, 'The database responds and accepts writes again');
    } else if (state.kind === 'unreachable') {
      this.log.error(
        { event: 'database_lost', cause: state.cause },
        'The database does not respond: requests with cached keys continue',
      );
    } else {
      this.log.error(
        { event: 'database_unwritable', cause: state.cause },
        'The database takes no writes: usage waits in memory, changes are refused with 503',
      );
    }
  }
}
