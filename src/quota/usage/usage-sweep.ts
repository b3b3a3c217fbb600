/**
 * Cleans up after processes that died while their counts were in Redis or the counting process. Ends their requests in
 * flight, writes the counts of the store to the database, and records missing usage as `unrecorded`. Several processes
 * can sweep at once.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from '../../stores/redis/connect.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import { readMonths } from '../redis/redis-months.js';
import { countersSince, countersThatDiffer, writeUnrecorded, type CounterName } from './usage-reconcile.js';
import type { CounterRow, UsageTable } from './usage-table.js';

/**
 * Number of flush intervals without a write after which a process is considered dead, and the minimum time (ms). A
 * wrong guess is harmless.
 */
const SILENT_INTERVALS = 3;
const SHORTEST_SILENCE_MS = 2_000;
/**
 * Margin in ms, added to the silence of a dead process. Counters that were written within this time may contain usage
 * of the process.
 */
const MARGIN_MS = 300_000;
/** Interval at which counts are reconciled even without deaths, for work that a worker did not complete. */
const RECONCILE_INTERVAL_MS = 3_600_000;
/** Number of flush rounds of a process after which all of its earlier records are in the database. */
const ROUNDS = 3;
/** Maximum wait for these rounds, in ms. Twice the duration of the rounds is added to it. */
const LONGEST_WAIT_MS = 120_000;
const ACCOUNTS_AT_ONCE = 20;
const ROWS_PER_WRITE = 1_000;

/** UsageSweep ends the requests of dead processes, and records the usage that they did not write. */
export class UsageSweep {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;
  private readonly stopping = new AbortController();
  private reconciledAtMs = 0;
  /** Whether a process has died since counts were last reconciled with Redis. */
  private hasDeaths = false;

  constructor(
    private readonly table: UsageTable,
    private readonly client: RedisClient,
    /** ID of this process, which is not swept. */
    private readonly node: string,
    private readonly clock: Clock,
    private readonly log: Logger,
    private readonly longestWaitMs = LONGEST_WAIT_MS,
  ) {}

  /** Sweeps every flush interval. */
  start(flushIntervalMs: number): void {
    this.timer = setInterval(() => this.sweepOnce(flushIntervalMs), flushIntervalMs);
    this.timer.unref();
  }

  /** Stops sweeping, and ends running waits. Resolves when no sweep runs any more. Never rejects. */
  async stop(): Promise<void> {
    this.stopping.abort();
    clearInterval(this.timer);
    await this.sweeping;
  }

  private get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private sweepOnce(flushIntervalMs: number): void {
    this.sweeping ??= this.sweep(flushIntervalMs)
      .catch((error: unknown) => {
        this.log.warn(
          { event: 'usage_sweep_failed', err: error },
          'The sweep of dead processes failed and will be repeated',
        );
      })
      .finally(() => (this.sweeping = undefined));
  }

  /** Sweeps once. Rejects if the database or Redis is unavailable. The next sweep repeats the work. */
  async sweep(flushIntervalMs: number): Promise<void> {
    const now = this.clock.now();
    await this.endSilent(flushIntervalMs);
    const isDue = now - this.reconciledAtMs >= RECONCILE_INTERVAL_MS;
    if (!this.hasDeaths && !isDue) return;
    this.hasDeaths = false;
    const spanMs = isDue ? 2 * RECONCILE_INTERVAL_MS : silenceOf(flushIntervalMs) + MARGIN_MS;
    let isDone = false;
    try {
      isDone = await this.reconcile(now - spanMs, flushIntervalMs);
    } finally {
      // Keep deaths that were noticed during the reconciliation.
      this.hasDeaths ||= !isDone;
    }
    if (isDue && isDone) this.reconciledAtMs = now;
  }

  /** Ends the requests in flight of processes that are considered dead. */
  private async endSilent(flushIntervalMs: number): Promise<void> {
    const now = this.clock.now();
    const silent = await this.table.endSilentNodes(now - silenceOf(flushIntervalMs), this.node, now);
    if (silent.length === 0) return;
    this.hasDeaths = true;
    this.log.warn({ event: 'usage_process_gone', processes: silent.length }, 'A process died before its last write');
  }

  /**
   * Reconciles counts and usage with Redis, for all counters written since `sinceMs`. Resolves to false if a live
   * process did not write for too long, or if the sweep was stopped. Call this method again in these cases.
   */
  async reconcile(sinceMs: number, flushIntervalMs: number): Promise<boolean> {
    const counts = await this.readCounts(await countersSince(this.table.db, sinceMs));
    const now = this.clock.now();
    for (let at = 0; at < counts.length; at += ROWS_PER_WRITE) {
      await this.table.putCounters(this.table.db, counts.slice(at, at + ROWS_PER_WRITE), now);
    }
    if (counts.length === 0) return true;
    if (!(await this.waitForWrites(flushIntervalMs))) return false;
    const { db, kind } = this.table;
    const differing = await countersThatDiffer(db, kind, counts);
    if (differing.length === 0) return true;
    // Read again, because calls to Redis without a response have been refunded by now.
    const again = await this.readCounts(differing);
    if (!(await this.waitForWrites(flushIntervalMs))) return false;
    const corrected = await writeUnrecorded(db, kind, again, this.clock.now());
    if (corrected > 0) METRICS.usageReconciled.series().inc(corrected);
    return true;
  }

  /** Reads the counters from Redis. Omits counters that Redis has in another month, and missing counters. */
  private async readCounts(counters: readonly CounterName[]): Promise<CounterRow[]> {
    const accounts = [...Map.groupBy(counters, ({ accountId }) => accountId)];
    const counts: CounterRow[] = [];
    for (let at = 0; at < accounts.length && !this.isStopped; at += ACCOUNTS_AT_ONCE) {
      const some = accounts.slice(at, at + ACCOUNTS_AT_ONCE);
      const found = some.map(async ([accountId, names]) => {
        const keyIds = [...new Set(names.map(({ keyId }) => keyId))];
        const seen = await readMonths(this.client, accountId, keyIds);
        const asked = new Set(names.map(({ keyId, month }) => `${keyId}/${month}`));
        return seen
          .filter(({ keyId, month }) => asked.has(`${keyId}/${month}`))
          .map((count) => ({ accountId, ...count }));
      });
      counts.push(...(await Promise.all(found)).flat());
    }
    return counts;
  }

  /**
   * Waits until every live process has written the usage that it knows now. Counts the flushes of the processes, so
   * slow processes and wrong clocks do not matter. Resolves to false if the wait takes too long, or if the sweep was
   * stopped.
   */
  private async waitForWrites(flushIntervalMs: number): Promise<boolean> {
    const before = await this.table.readRounds();
    const giveUpAtMs = performance.now() + this.longestWaitMs + 2 * ROUNDS * flushIntervalMs;
    while (performance.now() < giveUpAtMs) {
      // Half of a long interval can exceed the time limit of the shutdown, so `stop` can abort the wait.
      await sleep(flushIntervalMs / 2, undefined, { ref: false, signal: this.stopping.signal }).catch(() => undefined);
      if (this.isStopped) return false;
      // End processes that die during the wait, so that the sweep does not wait for them.
      await this.endSilent(flushIntervalMs);
      const now = await this.table.readRounds();
      const behind = [...before].filter(([node, round]) => (now.get(node) ?? Infinity) < round + ROUNDS);
      if (behind.length === 0) return true;
    }
    return false;
  }
}

/** Returns the time without a write after which a process is considered dead, in ms. */
function silenceOf(flushIntervalMs: number): number {
  return Math.max(SILENT_INTERVALS * flushIntervalMs, SHORTEST_SILENCE_MS);
}
