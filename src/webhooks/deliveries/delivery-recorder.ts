/** Records the results of attempts in batches, with their effects on the deliveries and endpoints. */
import type { Kysely } from 'kysely';
import type { Tables } from '../../stores/database/schema.js';
import { DatabaseUnavailable } from '../../stores/database/database-errors.js';
import type { WorkSignal } from '../../outbox/work-signal.js';
import { Batcher } from '../../platform/batcher.js';
import type { Clock } from '../../platform/clock.js';
import type { Logger } from '../../platform/log.js';
import { METRICS } from '../../platform/metrics.js';
import type { AttemptMade } from '../sending/attempt.js';
import type { EndpointHealthChecks } from './endpoint-health-checks.js';
import {
  writeResults,
  type AttemptRecord,
  type DeliveryOutcome,
  type EndpointHealth,
} from './rows/delivery-results.js';
import type { DueDelivery } from './rows/due-deliveries.js';
import type { LaneEndpoint } from './rows/lanes.js';
import { nextAttemptMs } from './rows/retry-schedule.js';

/** Maximum number of results per transaction. SQLite has one connection, so a transaction delays all other work. */
const MAX_RESULTS = { sqlite: 64, postgres: 256 } as const;

/** Dependencies of `DeliveryRecorder`. */
export interface DeliveryRecorderParts {
  readonly db: Kysely<Tables>;
  readonly kind: 'sqlite' | 'postgres';
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: WorkSignal;
  readonly healthChecks: EndpointHealthChecks;
}

/** DeliveryRecorder writes results. While the database is unavailable, results wait and `isStuck` is true. */
export class DeliveryRecorder {
  private readonly results: Batcher<AttemptRecord, void>;

  constructor(private readonly parts: DeliveryRecorderParts) {
    this.results = new Batcher((records) => this.writeAll(records), {
      most: MAX_RESULTS[parts.kind],
      isAway: (error) => error instanceof DatabaseUnavailable,
      isItemError: () => true,
    });
  }

  /** Whether results cannot be written now. No attempts should start, because a lost result repeats its attempt. */
  get isStuck(): boolean {
    return this.results.isStuck;
  }

  /** Discards unwritten results. Other processes repeat the attempts of these results after the leases have expired. */
  stop(): void {
    this.results.stop(new DatabaseUnavailable('webhook results are no longer written'));
  }

  /**
   * Records an attempt. Resolves with the delivery's outcome after the commit.
   * @param endpoint current settings. Their retry schedule determines the next attempt.
   * @param url URL of the attempt. The endpoint may have a different URL by now.
   */
  async record(
    endpoint: LaneEndpoint,
    delivery: DueDelivery,
    made: AttemptMade,
    url: string,
  ): Promise<DeliveryOutcome> {
    // A 410 from a previous URL of the endpoint does not end the delivery.
    const attempt = made.outcome === 'gone' && endpoint.url !== url ? { ...made, outcome: 'failed' as const } : made;
    const outcome = outcomeOf(endpoint, delivery, attempt, this.parts.clock.now());
    this.logAttempt(endpoint, delivery, attempt, outcome);
    await this.results.add({ delivery, attempt, url, outcome, isOrdered: endpoint.isOrdered });
    return outcome;
  }

  private logAttempt(
    endpoint: LaneEndpoint,
    delivery: DueDelivery,
    made: AttemptMade,
    { state }: DeliveryOutcome,
  ): void {
    this.parts.log.info({
      event: 'webhook_attempt',
      delivery_id: delivery.id,
      event_id: delivery.eventId,
      endpoint_id: endpoint.id,
      account_id: endpoint.accountId,
      attempt: delivery.attempts + 1,
      status: made.statusCode,
      duration_ms: made.durationMs,
      outcome: made.outcome,
      error: made.error,
      delivery: state,
    });
  }

  private async writeAll(records: readonly AttemptRecord[]): Promise<readonly void[]> {
    const { db, clock, signal, healthChecks } = this.parts;
    const { changed, released } = await writeResults(db, records, healthOf(records), clock.now());
    signal.signalEndpoints(released);
    for (const { delivery, outcome } of records) {
      if (outcome.state === 'pending' || !changed.has(delivery.id)) continue;
      const reason = outcome.state === 'failed' ? outcome.reason : '';
      METRICS.webhookDeliveries.series(outcome.state, reason).inc();
    }
    const failures = records.filter(({ outcome }) => outcome.state !== 'succeeded');
    if (failures.length > 0) healthChecks.addFailures(failures);
    return records.map(() => undefined);
  }
}

/** Returns the new state of a delivery, and the time of the next attempt if there is one. */
function outcomeOf(endpoint: LaneEndpoint, delivery: DueDelivery, made: AttemptMade, nowMs: number): DeliveryOutcome {
  if (made.outcome === 'succeeded') return { state: 'succeeded' };
  if (made.outcome !== 'failed') return { state: 'failed', reason: made.outcome };
  const { scheduleMs } = endpoint;
  const { retryAfterMs } = made;
  const attempts = delivery.attempts + 1;
  const dueAtMs = nextAttemptMs({ scheduleMs, attempts, nowMs, retryAfterMs, random: Math.random });
  return dueAtMs === undefined ? { state: 'failed', reason: 'exhausted' } : { state: 'pending', dueAtMs };
}

/**
 * Summarizes attempts by endpoint. If the receiver ended a delivery (`aborted`), the attempt counts as a success,
 * because the receiver works.
 */
export function healthOf(records: readonly AttemptRecord[]): EndpointHealth[] {
  const byEndpoint = new Map<string, EndpointHealth>();
  for (const record of records.toSorted((one, other) => one.attempt.atMs - other.attempt.atMs)) {
    const { endpointId } = record.delivery;
    const before = byEndpoint.get(endpointId) ?? { endpointId, succeededAtMs: null, failures: 0, failingSinceMs: null };
    byEndpoint.set(endpointId, healthAfter(before, record));
  }
  return [...byEndpoint.values()];
}

function healthAfter(before: EndpointHealth, { attempt: { atMs }, outcome }: AttemptRecord): EndpointHealth {
  const hasSucceeded = outcome.state === 'succeeded' || (outcome.state === 'failed' && outcome.reason === 'aborted');
  if (hasSucceeded) return { ...before, succeededAtMs: atMs, failures: 0, failingSinceMs: null };
  return { ...before, failures: before.failures + 1, failingSinceMs: before.failingSinceMs ?? atMs };
}
