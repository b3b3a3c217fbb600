/**
 * Writes usage and month counts to the database every few seconds, outside the request path. If a batch fails, or its
 * response is lost, the flush sends the batch again unchanged until the database confirms it. The database counts each
 * batch once. An account's usage and counts are taken at the same instant, so that they agree even after a crash.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.js';
import type { WriteWitness } from '../../stores/database/database-health.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { NOTHING_ADDED, type AddedEvents } from '../../outbox/outbox.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { Pace } from '../../platform/pace.js';
import type { FlushProgress } from '../model/flush-progress.js';
import type { ExactCounts, MonthLedger } from './month-ledger.js';
import { MonthNotices, type MonthNotice } from './month-notices.js';
import type { UsageChange, UsageRecorder } from './usage-recorder.js';
import { ROUND, type CounterRow, type UsageBatch, type UsageTable } from './usage-table.js';

/**
 * Number of rows at which a batch is full. The batch ends with the account that reaches this number. A batch of this
 * size keeps the event loop busy for a few milliseconds.
 */
const FULL_BATCH_ROWS = 2_000;
/**
 * Minimum number of rows of a batch in a timed flush. For fewer rows, the transaction would cost more than the rows.
 */
const SMALL_BATCH_ROWS = 128;
/**
 * Number of batches of a timed flush, unless a batch would have too many or too few rows. Each batch uses the CPU for a
 * millisecond or two.
 */
const STEPS = 16;
/**
 * Fraction of the interval over which the batches are spread. Flushes begin earlier by this fraction, so that no change
 * waits longer than the interval.
 */
const SPREAD = 0.2;
/** Number of cells that are checked for idleness in one turn of the event loop. */
const CELLS_AT_ONCE = 2_000;

interface PendingBatch extends UsageBatch {
  /** When the first change of the batch was recorded, in ms; 0 for an empty batch. */
  readonly oldestMs: number;
  readonly notices: readonly MonthNotice[];
  /**
   * Notices that the last attempt has added. Kept for the next attempt, because the database may have committed these
   * notices although the response was lost.
   */
  added: AddedEvents;
}

/** UsageFollower writes other data after each flush, so that this data does not delay the usage. */
export interface UsageFollower {
  /** Writes the data, spread over a time span. Never rejects. */
  flush(spanMs: number): Promise<void>;
  /** Ends the current pause and skips further pauses. */
  hurry(): void;
}

/** FlushOptions holds the settings and the optional dependencies of a flush. */
export interface FlushOptions {
  /** Whether other processes use the same counters. If not, all earlier writers of usage have ended. */
  readonly isShared: boolean;
  /** The counters, if they are in this process. */
  readonly exact?: ExactCounts;
  /**
   * Reports which accounts' counts must not be written yet, because they may be incomplete. At shutdown, the flush
   * writes all counts.
   */
  readonly memory?: { holdsBack(accountId: string): boolean };
  /** Progress of the flushes. The flush updates it for code that must know which counts were written. */
  readonly rounds?: FlushProgress;
  /** Learns of each batch that was written, and of each failed flush. */
  readonly witness?: WriteWitness;
  /** Runs after each successful flush. */
  readonly follower?: UsageFollower;
  /** Receives the webhook endpoints that get notices. */
  readonly signal?: WorkSignal;
}

/** UsageFlush writes usage and month counts in batches, every few seconds and at shutdown. */
export class UsageFlush {
  /** ID of this process in the table `usage_node`. */
  readonly node = randomUUID();
  private batch: PendingBatch | undefined;
  private rounds = 0;
  private batches = 0;
  private flushing: Promise<void> | undefined;
  private pace = new Pace(0);
  private timer: NodeJS.Timeout | undefined;
  /** Everything recorded before this time (ms) has been written. */
  private settledMs = 0;
  private mustEndOthers: boolean;
  private isStopping = false;
  private readonly notices: MonthNotices;
  private readonly rowsWritten = METRICS.usageRows.series();

  constructor(
    private readonly table: UsageTable,
    private readonly ledger: MonthLedger,
    private readonly recorder: UsageRecorder,
    private readonly clock: Clock,
    private readonly log: Logger,
    private readonly options: FlushOptions,
  ) {
    this.mustEndOthers = !options.isShared;
    this.notices = new MonthNotices(clock, log);
  }

  readGauges(): void {
    METRICS.usageFlushLag.series().set(this.lagSeconds());
    METRICS.usageQueue.series().set(this.recorder.length + this.ledger.length + rowsOf(this.batch));
  }

  /**
   * Flushes immediately, and then often enough that no change waits longer than `intervalMs`. Requests run between the
   * batches.
   */
  start(intervalMs: number): void {
    const flush = (): void => void this.begin(intervalMs * SPREAD).catch(() => undefined);
    this.timer = setInterval(flush, intervalMs * (1 - SPREAD));
    this.timer.unref();
    flush();
  }

  /** Stops flushing, and writes the remaining changes. Rejects if that fails. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.isStopping = true;
    this.hurry();
    await this.recorder.refundsSettled();
    await this.flushing?.catch(() => undefined);
    await this.flush();
    if (this.options.isShared) await this.table.markEnded(this.node, this.clock.now());
  }

  /**
   * Writes the waiting changes without pauses. If a flush is running, ends its pauses and waits for that flush instead.
   * Rejects if the database did not accept the changes, which then wait for the next flush.
   */
  flush(): Promise<void> {
    this.hurry();
    return this.begin(0);
  }

  private hurry(): void {
    this.pace.skipPauses();
    this.options.follower?.hurry();
  }

  private begin(spanMs: number): Promise<void> {
    this.flushing ??= this.write(spanMs)
      .then(() => this.options.follower?.flush(spanMs))
      .finally(() => (this.flushing = undefined));
    return this.flushing;
  }

  private async write(spanMs: number): Promise<void> {
    const { rounds } = this.options;
    const pace = (this.pace = new Pace(spanMs));
    const round = rounds?.begin() ?? 0;
    try {
      await this.endOthers();
      if (this.batch !== undefined) await this.send(this.batch);
      while (this.recorder.reapIdle(CELLS_AT_ONCE)) await nextTurn();
      this.rounds += 1;
      this.batches = 0;
      const beganMs = this.clock.now();
      const accounts = new Set([...this.ledger.waitingAccounts(), ...this.recorder.waitingAccounts()]);
      const total = accounts.size;
      const perStep = spanMs > 0 ? Math.ceil(total / STEPS) : Infinity;
      for (const account of accounts) {
        accounts.delete(account);
        await this.send((this.batch = this.takeBatch(account, accounts, perStep)));
        if (accounts.size > 0) await pace.waitUntilShare(1 - accounts.size / total);
      }
      // Write an empty batch, so that the sweep of dead processes sees that this process is alive. Other batches have
      // the same effect.
      if (this.options.isShared && this.batches === 0) await this.send((this.batch = this.takeBatch('', new Set(), 0)));
      // Under steady load, new changes arrive before all earlier changes are written, so the queue is never empty.
      this.settledMs = beganMs;
      rounds?.end(round);
      this.ledger.markWritten();
      METRICS.usageFlushes.series('written').inc();
    } catch (error) {
      this.options.witness?.recordWriteFailure(error);
      METRICS.usageFlushes.series('failed').inc();
      this.log.error(
        { event: 'usage_flush_failed', rows: rowsOf(this.batch), err: error },
        'Usage could not be written',
      );
      throw error;
    }
  }

  private async send(batch: PendingBatch): Promise<void> {
    await this.table.write(this.node, batch, this.clock.now(), async (trx) => {
      batch.added = await this.notices.write(trx, batch.notices);
    });
    this.batch = undefined;
    this.options.witness?.recordWrite();
    this.notices.recordWritten(batch.notices, batch.added);
    this.options.signal?.signalEndpoints(batch.added.endpointIds);
    this.rowsWritten.inc(rowsOf(batch));
  }

  /**
   * Takes the changes of an account, and of further accounts from `more`. Stops after `most` accounts, or when the
   * batch is full. Removes the taken accounts from `more`.
   */
  private takeBatch(first: string, more: Set<string>, most: number): PendingBatch {
    const oldestMs = this.waitingSinceMs();
    const usage: UsageChange[] = [];
    const counters: CounterRow[] = [];
    const notices: MonthNotice[] = [];
    this.takeAccount(first, usage, counters, notices);
    let taken = 1;
    for (const account of more) {
      const rows = usage.length + counters.length;
      if (rows >= FULL_BATCH_ROWS || (taken >= most && rows >= SMALL_BATCH_ROWS)) break;
      taken += 1;
      more.delete(account);
      this.takeAccount(account, usage, counters, notices);
    }
    this.batches += 1;
    return { number: this.rounds * ROUND + this.batches, usage, counters, notices, added: NOTHING_ADDED, oldestMs };
  }

  private takeAccount(account: string, usage: UsageChange[], counters: CounterRow[], notices: MonthNotice[]): void {
    const { exact, memory } = this.options;
    this.recorder.takeChanges(account, usage);
    if (!this.isStopping && memory?.holdsBack(account) === true) return;
    this.ledger.takeAccount(account, counters, notices, exact);
  }

  /**
   * Ends the requests in flight of all other processes, once. If the counters are in this process, no other process can
   * be alive.
   */
  private async endOthers(): Promise<void> {
    if (!this.mustEndOthers) return;
    await this.table.endSilentNodes(Number.MAX_SAFE_INTEGER, this.node, this.clock.now());
    this.mustEndOthers = false;
  }

  /** Returns when the oldest waiting change was recorded, in ms. Returns 0 if no change waits. */
  private waitingSinceMs(): number {
    const recordedMs = oldest(this.ledger.oldestMs, this.recorder.oldestMs);
    return recordedMs === 0 ? 0 : Math.max(recordedMs, this.settledMs);
  }

  private lagSeconds(): number {
    const oldestMs = oldest(this.batch?.oldestMs ?? 0, this.waitingSinceMs());
    return oldestMs === 0 ? 0 : Math.max(0, (this.clock.now() - oldestMs) / 1_000);
  }
}

/** Returns the earliest of several instants. 0 means none. */
function oldest(...instants: readonly number[]): number {
  const known = instants.filter((ms) => ms > 0);
  return known.length === 0 ? 0 : Math.min(...known);
}

function rowsOf(batch: UsageBatch | undefined): number {
  return batch === undefined ? 0 : batch.usage.length + batch.counters.length;
}
