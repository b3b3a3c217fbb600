/** What a scrape says of the worker of webhooks as it is now, from what this process remembers: it asks no database. */
import type { Clock } from '../../platform/clock.js';
import { METRICS } from '../../platform/metrics.js';
import type { ReadsGauges } from '../../platform/metrics-text.js';
import type { Lane } from './lane.js';

/** What is looked at. */
export interface WatchedWorker {
  readonly lanes: Iterable<Lane>;
  readonly activeAttempts: number;
  /** Since when the endpoint that nobody has in hand is due which has been for longest; as of the last scan. */
  readonly unownedDueAtMs: number | undefined;
}

/** WebhookGauges reads them. */
export class WebhookGauges implements ReadsGauges {
  /** @param hears whether the worker is told; undefined where all that it has to do is written in its own process. */
  constructor(
    private readonly worker: WatchedWorker,
    private readonly clock: Clock,
    private readonly hears: (() => boolean) | undefined,
  ) {}

  readGauges(): void {
    const counts = { working: 0, breaker_open: 0, unreadable: 0 };
    let oldestMs = this.worker.unownedDueAtMs ?? Infinity;
    for (const lane of this.worker.lanes) {
      const state = lane.isUnreadable ? 'unreadable' : lane.pace.isOpen ? 'breaker_open' : 'working';
      counts[state] += 1;
      // What waits for a receiver that fails is late by its own fault.
      if (state !== 'breaker_open') oldestMs = Math.min(oldestMs, lane.dueSinceMs ?? Infinity);
    }
    METRICS.webhookLanes.series('working').set(counts.working);
    METRICS.webhookLanes.series('breaker_open').set(counts.breaker_open);
    METRICS.webhookLanes.series('unreadable').set(counts.unreadable);
    METRICS.webhookActiveAttempts.series().set(this.worker.activeAttempts);
    METRICS.webhookOldestDue.series().set(Math.max(0, (this.clock.now() - oldestMs) / 1_000));
    if (this.hears !== undefined) METRICS.webhookListenerUp.series().set(this.hears() ? 1 : 0);
  }
}
