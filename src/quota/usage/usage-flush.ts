/**
 * Brings usage and month counts to the database every few seconds, off the request path and each of them once: a batch
 * that failed, or whose response was lost, is sent again as it was until it is known to stand there; what changes
 * meanwhile gathers in the next one. Of an account, usage and counts are taken in the same instant, so that they agree
 * also after a crash.
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
import type { FlushRounds } from '../model/flush-rounds.js';
import type { ExactCounts, MonthLedger } from './month-ledger.js';
import { MonthNotices, type MonthNotice } from './month-notices.js';
import type { UsageChange, UsageRecorder } from './usage-recorder.js';
import { ROUND, type CounterRow, type UsageBatch, type UsageTable } from './usage-table.js';

/**
 * A batch ends with the account that fills it. Bounds how long the event loop is busy with putting it together: a few
 * milliseconds.
 */
const FULL_BATCH_ROWS = 2_000;
/** A batch with less would cost more for its transaction than for its rows. */
const SMALL_BATCH_ROWS = 128;
/**
 * Into so many batches, at most of the size above, a flush by the clock is divided: each takes the core for a
 * millisecond or two.
 */
const STEPS = 16;
/**
 * Over so much of the interval they are spread; flushes begin that much sooner, so that no change waits longer than the
 * interval.
 */
const SPREAD = 0.2;
/** Cells that are looked at in one stretch for being idle. */
const CELLS_AT_ONCE = 2_000;

interface PendingBatch extends UsageBatch {
  /** When the first of it was counted, ms. */
  readonly oldestMs: number;
  readonly notices: readonly MonthNotice[];
  /** Which of the notices were new, as the last attempt found; kept, because its response may be all that was lost. */
  added: AddedEvents;
}

/** UsageFollower writes what may wait behind usage, and never instead of it. */
export interface UsageFollower {
  /** Writes, spread over a span. Never rejects. */
  flush(spanMs: number): Promise<void>;
  /** Makes no more pauses. */
  hurry(): void;
}

/** FlushOptions says whose counts are written, and who is told of it. */
export interface FlushOptions {
  /** Whether other processes count in the same place. Where none does, those that wrote before have ended. */
  readonly isShared: boolean;
  /** The counters, where they live in this process. */
  readonly exact?: ExactCounts;
  /** Says whose counts are to wait for now, because they may lack something; when it stops, all are written. */
  readonly memory?: { holdsBack(accountId: string): boolean };
  /** Kept for whoever must know what has been written. */
  readonly rounds?: FlushRounds;
  /** Told what the database did with each batch. */
  readonly witness?: WriteWitness;
  /** Written behind each flush that has succeeded. */
  readonly follower?: UsageFollower;
  /** Told which webhook endpoints notices go to. */
  readonly signal?: WorkSignal;
}

/** UsageFlush writes usage and month counts in batches, every few seconds and at the end. */
export class UsageFlush {
  /** This process, in the table of those that write. */
  readonly node = randomUUID();
  private batch: PendingBatch | undefined;
  private rounds = 0;
  private batches = 0;
  private flushing: Promise<void> | undefined;
  private pace = new Pace(0);
  private timer: NodeJS.Timeout | undefined;
  /** By the clock; whatever was noted before has been written. */
  private settledMs = 0;
  private othersAreGone: boolean;
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
    this.othersAreGone = !options.isShared;
    this.notices = new MonthNotices(clock, log);
  }

  readGauges(): void {
    METRICS.usageFlushLag.series().set(this.lagSeconds());
    METRICS.usageQueue.series().set(this.recorder.length + this.ledger.length + rowsOf(this.batch));
  }

  /**
   * Flushes at once, and from now on so that no change waits longer than `intervalMs`; in steps, between which requests
   * have the core.
   */
  start(intervalMs: number): void {
    const flush = (): void => void this.begin(intervalMs * SPREAD).catch(() => undefined);
    this.timer = setInterval(flush, intervalMs * (1 - SPREAD));
    this.timer.unref();
    flush();
  }

  /** Stops flushing, and writes what is left. Rejects when that fails. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    this.isStopping = true;
    this.hurry();
    await this.recorder.settled();
    await this.flushing?.catch(() => undefined);
    await this.flush();
    if (this.options.isShared) await this.table.end(this.node, this.clock.now());
  }

  /**
   * Writes what has changed until now, without pauses. One at a time; rejects when the database did not take it, and it
   * is kept for the next.
   */
  flush(): Promise<void> {
    this.hurry();
    return this.begin(0);
  }

  private hurry(): void {
    this.pace.hurry();
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
      const accounts = new Set([...this.ledger.accounts(), ...this.recorder.accounts()]);
      const total = accounts.size;
      const perStep = spanMs > 0 ? Math.ceil(total / STEPS) : Infinity;
      for (const account of accounts) {
        accounts.delete(account);
        await this.send((this.batch = this.take(account, accounts, perStep)));
        if (accounts.size > 0) await pace.reach(1 - accounts.size / total);
      }
      // Says that this process lives, for whoever looks after those that do not. Every other batch says so as well.
      if (this.options.isShared && this.batches === 0) await this.send((this.batch = this.take('', new Set(), 0)));
      // Under steady use something is noted before all is written, so that what waits is never nothing.
      this.settledMs = beganMs;
      rounds?.end(round);
      this.ledger.written();
      METRICS.usageFlushes.series('written').inc();
    } catch (error) {
      this.options.witness?.writeFailed(error);
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
    this.options.witness?.wrote();
    this.notices.written(batch.notices, batch.added);
    this.options.signal?.tell(batch.added.endpointIds);
    this.rowsWritten.inc(rowsOf(batch));
  }

  /**
   * The changes of an account, and of more until there are so many or the batch is full; those are taken off the list.
   */
  private take(first: string, more: Set<string>, most: number): PendingBatch {
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
    this.recorder.take(account, usage);
    if (!this.isStopping && memory?.holdsBack(account) === true) return;
    this.ledger.take(account, counters, notices, exact);
  }

  /** Counters in this process: whoever else has requests in flight in the table was killed. Once. */
  private async endOthers(): Promise<void> {
    if (!this.othersAreGone) return;
    await this.table.bury(Number.MAX_SAFE_INTEGER, this.node, this.clock.now());
    this.othersAreGone = false;
  }

  /** When the oldest of what waits was noted; 0: nothing waits. */
  private waitingSinceMs(): number {
    const notedMs = oldest(this.ledger.oldestMs, this.recorder.oldestMs);
    return notedMs === 0 ? 0 : Math.max(notedMs, this.settledMs);
  }

  private lagSeconds(): number {
    const oldestMs = oldest(this.batch?.oldestMs ?? 0, this.waitingSinceMs());
    return oldestMs === 0 ? 0 : Math.max(0, (this.clock.now() - oldestMs) / 1_000);
  }
}

/** The earliest of instants; 0 is none. */
function oldest(...instants: readonly number[]): number {
  const known = instants.filter((ms) => ms > 0);
  return known.length === 0 ? 0 : Math.min(...known);
}

function rowsOf(batch: UsageBatch | undefined): number {
  return batch === undefined ? 0 : batch.usage.length + batch.counters.length;
}
