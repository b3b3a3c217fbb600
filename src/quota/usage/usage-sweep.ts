/**
 * Looks after what processes leave behind that die with counts in Redis: gives an end to their requests in flight,
 * writes the month counts down as Redis has them, also where no more requests come, and what nobody recorded as
 * `unrecorded`. Belongs to the worker role, and to whoever has a counting process of its own; any number may do it at
 * once.
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
 * A process that has not written for so many flush intervals, and at least for so long, is taken for dead; wrongly is
 * harmless.
 */
const SILENT_INTERVALS = 3;
const SHORTEST_SILENCE_MS = 2_000;
/** Counters that were written so long before a death was seen may hold something of the dead. */
const MARGIN_MS = 300_000;
/** Beside the deaths that are seen: what a worker did not get to the end of. */
const RECONCILE_INTERVAL_MS = 3_600_000;
/** After so many rounds of every process, what it had noted before stands in the database. */
const ROUNDS = 3;
/** Nobody waits for them longer than this, and twice as many flush intervals. */
const LONGEST_WAIT_MS = 120_000;
const ACCOUNTS_AT_ONCE = 20;
const ROWS_PER_WRITE = 1_000;

/** UsageSweep ends the requests of processes that died, and records what they counted. */
export class UsageSweep {
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;
  private readonly stopping = new AbortController();
  private reconciledAtMs = 0;
  /** Whether a process has been found dead since counts were last brought to what Redis says. */
  private hasDeaths = false;

  constructor(
    private readonly table: UsageTable,
    private readonly client: RedisClient,
    /** This process, which needs no looking after. */
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

  /** Resolves when nothing of it runs any more: it waits for nobody from then on. Never rejects. */
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
        this.log.warn({ event: 'usage_sweep_failed', err: error }, 'Usage of dead processes waits for the next sweep');
      })
      .finally(() => (this.sweeping = undefined));
  }

  /** One sweep. Rejects where the database or Redis is away; then the next one does it. */
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
      // What was found dead meanwhile, too.
      this.hasDeaths ||= !isDone;
    }
    if (isDue && isDone) this.reconciledAtMs = now;
  }

  /** Ends the requests in flight of processes that have fallen silent. */
  private async endSilent(flushIntervalMs: number): Promise<void> {
    const now = this.clock.now();
    const gone = await this.table.bury(now - silenceOf(flushIntervalMs), this.node, now);
    if (gone.length === 0) return;
    this.hasDeaths = true;
    this.log.warn({ event: 'usage_process_gone', processes: gone.length }, 'A process ended without a last write');
  }

  /**
   * Brings counts and usage to what Redis says of everything that was counted since. False where a process that lives
   * did not write for too long, or this was stopped: ask again.
   */
  async reconcile(sinceMs: number, flushIntervalMs: number): Promise<boolean> {
    const counts = await this.countsIn(await countersSince(this.table.db, sinceMs));
    const now = this.clock.now();
    for (let at = 0; at < counts.length; at += ROWS_PER_WRITE) {
      await this.table.putCounters(this.table.db, counts.slice(at, at + ROWS_PER_WRITE), now);
    }
    if (counts.length === 0) return true;
    if (!(await this.everyoneHasWritten(flushIntervalMs))) return false;
    const { db, kind } = this.table;
    const differing = await countersThatDiffer(db, kind, counts);
    if (differing.length === 0) return true;
    // Looked at once more: a call to Redis that got no response in time has been refunded there by now.
    const again = await this.countsIn(differing);
    if (!(await this.everyoneHasWritten(flushIntervalMs))) return false;
    const corrected = await writeUnrecorded(db, kind, again, this.clock.now());
    if (corrected > 0) METRICS.usageReconciled.series().inc(corrected);
    return true;
  }

  /** The counts in Redis, of the months that Redis is in. */
  private async countsIn(counters: readonly CounterName[]): Promise<CounterRow[]> {
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
   * Waits until every process that lives has written what it knew at this moment: counted in its own flushes, so that
   * neither slow ones nor wrong clocks matter. False where that takes too long.
   */
  private async everyoneHasWritten(flushIntervalMs: number): Promise<boolean> {
    const before = await this.table.rounds();
    const giveUpAtMs = performance.now() + this.longestWaitMs + 2 * ROUNDS * flushIntervalMs;
    while (performance.now() < giveUpAtMs) {
      // Half of a long interval would be longer than the end of the program has.
      await sleep(flushIntervalMs / 2, undefined, { ref: false, signal: this.stopping.signal }).catch(() => undefined);
      if (this.isStopped) return false;
      // Nobody waits for one that dies meanwhile.
      await this.endSilent(flushIntervalMs);
      const now = await this.table.rounds();
      const behind = [...before].filter(([node, round]) => (now.get(node) ?? Infinity) < round + ROUNDS);
      if (behind.length === 0) return true;
    }
    return false;
  }
}

function silenceOf(flushIntervalMs: number): number {
  return Math.max(SILENT_INTERVALS * flushIntervalMs, SHORTEST_SILENCE_MS);
}
