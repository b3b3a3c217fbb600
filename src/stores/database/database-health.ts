/**
 * Knows whether the database answers and whether it takes writes, so that nobody has to ask and wait. A probe in the
 * background asks; what is written anyway is a witness as well: a disk that takes one row need not take a thousand.
 */
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { DatabaseHandle } from './connect.js';

const PROBE_INTERVAL_MS = 1_000;
/** A probe without a response for so long says that the database is lost: it is what every other call waits for one. */
const PROBE_DEADLINE_MS = 2_000;
/** Where nobody has written for so long, the probe writes a row to see whether that can be done. */
const WRITE_INTERVAL_MS = 10_000;

/** WriteWitness is told of every write that would have been made anyway. */
export interface WriteWitness {
  wrote(): void;
  writeFailed(error: unknown): void;
}

/** DatabaseState is what is known of the database; `sinceMs` by the wall clock. */
export type DatabaseState =
  | { readonly kind: 'up' }
  | { readonly kind: 'unreachable' | 'unwritable'; readonly sinceMs: number; readonly cause: string };

interface Failure {
  readonly sinceMs: number;
  readonly cause: string;
}

export class DatabaseHealth implements WriteWitness {
  private unreachable: Failure | undefined;
  private refusesProbe: Failure | undefined;
  private refusesOthers: Failure | undefined;
  private told: DatabaseState['kind'] = 'up';
  private wroteAtMs = -Infinity;
  private isProbing = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly database: Pick<DatabaseHandle, 'ping' | 'takesWrites'>,
    private readonly clock: Clock,
    private readonly log: Pick<Logger, 'error' | 'warn'>,
    private readonly probeDeadlineMs = PROBE_DEADLINE_MS,
  ) {}

  readGauges(): void {
    METRICS.databaseUp.series('read').set(this.state.kind === 'unreachable' ? 0 : 1);
    METRICS.databaseUp.series('write').set(this.state.kind === 'up' ? 1 : 0);
  }

  /** Begins to probe, at once and every second. */
  start(): void {
    this.timer = setInterval(() => void this.probe(), PROBE_INTERVAL_MS);
    this.timer.unref();
    void this.probe();
  }

  stop(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** What is known now; asks nobody. */
  get state(): DatabaseState {
    if (this.unreachable !== undefined) return { kind: 'unreachable', ...this.unreachable };
    const refused = this.refusesOthers ?? this.refusesProbe;
    return refused === undefined ? { kind: 'up' } : { kind: 'unwritable', ...refused };
  }

  wrote(): void {
    this.wroteAtMs = performance.now();
    this.refusesOthers = undefined;
    this.tell();
  }

  /** Stands until something is written again: of that the probe, which writes next to nothing, is no proof. */
  writeFailed(error: unknown): void {
    // It fails because nothing can be reached; how writes are is asked when it can.
    if (this.unreachable === undefined) this.refusesOthers = this.failure(error, this.refusesOthers);
    this.tell();
  }

  /** Asks once, unless somebody does; resolves when it knows. Never rejects. */
  async probe(): Promise<void> {
    if (this.isProbing) return;
    this.isProbing = true;
    const { probeDeadlineMs } = this;
    const late = setTimeout(() => this.lost(new Error(`no response within ${probeDeadlineMs} ms`)), probeDeadlineMs);
    late.unref();
    try {
      await this.database.ping();
      this.unreachable = undefined;
    } catch (error) {
      this.lost(error);
    } finally {
      clearTimeout(late);
    }
    if (this.unreachable === undefined) await this.probeWrite();
    this.isProbing = false;
    this.tell();
  }

  private async probeWrite(): Promise<void> {
    const isFresh = performance.now() - this.wroteAtMs < WRITE_INTERVAL_MS;
    if (isFresh && this.refusesProbe === undefined) return;
    try {
      await this.database.takesWrites();
      this.wroteAtMs = performance.now();
      this.refusesProbe = undefined;
    } catch (error) {
      this.refusesProbe = this.failure(error, this.refusesProbe);
    }
  }

  private lost(error: unknown): void {
    this.unreachable = this.failure(error, this.unreachable);
    this.refusesProbe = undefined;
    this.refusesOthers = undefined;
    this.wroteAtMs = -Infinity;
    this.tell();
  }

  /** The latest cause, since the first. */
  private failure(error: unknown, before: Failure | undefined): Failure {
    return {
      sinceMs: before?.sinceMs ?? this.clock.now(),
      cause: error instanceof Error ? error.message : String(error),
    };
  }

  /** One line in the log for each change. None once the end has begun: the database is closed then. */
  private tell(): void {
    const { state } = this;
    if (state.kind === this.told || this.timer === undefined) return;
    this.told = state.kind;
    if (state.kind === 'up') {
      this.log.warn({ event: 'database_back' }, 'The database answers and takes writes again');
    } else if (state.kind === 'unreachable') {
      this.log.error({ event: 'database_lost', cause: state.cause }, 'The database does not answer: known keys go on');
    } else {
      this.log.error(
        { event: 'database_unwritable', cause: state.cause },
        'The database takes no writes: usage waits in memory, changes are refused with 503',
      );
    }
  }
}
