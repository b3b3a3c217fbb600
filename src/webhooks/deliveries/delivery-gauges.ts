/** Exports gauges of webhook delivery: the worker's state from memory, and the backlog from the database. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { METRICS } from '../../platform/metrics.js';
import type { ReadsGauges } from '../../platform/collect-metrics.js';
import { RepeatedRun } from '../../platform/repeated-run.js';
import type { Lane } from './lane.js';
import { readBacklog } from './rows/backlog.js';

/** Interval at which the backlog is read from the database. */
const BACKLOG_INTERVAL_MS = 15_000;

/** The state of the worker that the gauges show. */
export interface WatchedWorker {
  readonly lanes: Iterable<Lane>;
  readonly activeAttempts: number;
  /** Due time of the lane without an owner that has waited longest, as of the last scan; undefined if there is none. */
  readonly unownedDueAtMs: number | undefined;
}

/** WorkerGauges updates the worker's gauges at each scrape, without database queries. */
export class WorkerGauges implements ReadsGauges {
  /** @param isListening whether notifications from other processes arrive; undefined if the worker needs none. */
  constructor(
    private readonly worker: WatchedWorker,
    private readonly clock: Clock,
    private readonly isListening: (() => boolean) | undefined,
  ) {}

  readGauges(): void {
    const counts = { working: 0, breaker_open: 0, unreadable: 0 };
    let oldestMs = this.worker.unownedDueAtMs ?? Infinity;
    for (const lane of this.worker.lanes) {
      const state = lane.isUnreadable ? 'unreadable' : lane.pace.isOpen ? 'breaker_open' : 'working';
      counts[state] += 1;
      // Deliveries to a failing receiver are late on purpose, and do not count.
      if (state !== 'breaker_open') oldestMs = Math.min(oldestMs, lane.dueSinceMs ?? Infinity);
    }
    METRICS.webhookLanes.series('working').set(counts.working);
    METRICS.webhookLanes.series('breaker_open').set(counts.breaker_open);
    METRICS.webhookLanes.series('unreadable').set(counts.unreadable);
    METRICS.webhookActiveAttempts.series().set(this.worker.activeAttempts);
    METRICS.webhookOldestDue.series().set(Math.max(0, (this.clock.now() - oldestMs) / 1_000));
    if (this.isListening !== undefined) METRICS.webhookListenerUp.series().set(this.isListening() ? 1 : 0);
  }
}

/**
 * Exports the size of the backlog and the number of endpoints. Every worker exports the same numbers. The numbers keep
 * their values while the database is unavailable.
 * @returns a handle that stops the updates.
 */
export function watchBacklog(db: Kysely<Tables>, clock: Clock): { stop(): Promise<void> } {
  const reads = new RepeatedRun(
    async () => {
      const { endpoints, deliveries } = await readBacklog(db, clock.now());
      for (const status of ['enabled', 'paused', 'disabled'] as const) {
        METRICS.webhookEndpoints.series(status).set(endpoints[status]);
      }
      for (const state of ['due', 'later', 'held', 'paused'] as const) {
        METRICS.webhookBacklog.series(state).set(deliveries[state]);
      }
    },
    BACKLOG_INTERVAL_MS,
    () => undefined,
  );
  reads.start();
  return reads;
}
