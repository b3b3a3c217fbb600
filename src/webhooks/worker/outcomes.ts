/** What attempts mean: for their delivery, and for how it stands with their endpoint. */
import type { AttemptRecord, DeliveryOutcome } from '../deliveries/delivery-results.js';
import type { DueDelivery } from '../deliveries/due-deliveries.js';
import type { EndpointHealth } from '../deliveries/endpoint-health.js';
import type { LaneEndpoint } from '../deliveries/lane-endpoints.js';
import { nextAttemptMs } from '../deliveries/retry-schedule.js';
import type { AttemptMade } from '../sending/attempt.js';

/** What becomes of the delivery that was sent to `url`, by the schedule that its endpoint has now. */
export function recordOf(
  endpoint: LaneEndpoint,
  delivery: DueDelivery,
  made: AttemptMade,
  url: string,
  nowMs: number,
): AttemptRecord {
  return {
    delivery,
    attempt: made,
    url,
    outcome: outcomeOf(endpoint, delivery, made, nowMs),
    isOrdered: endpoint.isOrdered,
  };
}

function outcomeOf(endpoint: LaneEndpoint, delivery: DueDelivery, made: AttemptMade, nowMs: number): DeliveryOutcome {
  if (made.outcome === 'succeeded') return { state: 'succeeded' };
  if (made.outcome !== 'failed') return { state: 'failed', reason: made.outcome };
  const { scheduleMs } = endpoint;
  const { retryAfterMs } = made;
  const attempts = delivery.attempts + 1;
  const dueAtMs = nextAttemptMs({ scheduleMs, attempts, nowMs, retryAfterMs, random: Math.random });
  return dueAtMs === undefined ? { state: 'failed', reason: 'exhausted' } : { state: 'pending', dueAtMs };
}

/** What attempts say of their endpoints: one that the receiver wants no more of says that the receiver is there. */
export function healthOf(records: readonly AttemptRecord[]): EndpointHealth[] {
  const byEndpoint = new Map<string, EndpointHealth>();
  for (const record of records.toSorted((one, other) => one.attempt.atMs - other.attempt.atMs)) {
    const { endpointId } = record.delivery;
    const before = byEndpoint.get(endpointId) ?? {
      endpointId,
      succeededAtMs: null,
      failures: 0,
      failingSinceMs: null,
    };
    byEndpoint.set(endpointId, healthAfter(before, record));
  }
  return [...byEndpoint.values()];
}

function healthAfter(before: EndpointHealth, { attempt: { atMs }, outcome }: AttemptRecord): EndpointHealth {
  const hasSucceeded = outcome.state === 'succeeded' || (outcome.state === 'failed' && outcome.reason === 'aborted');
  if (hasSucceeded) return { ...before, succeededAtMs: atMs, failures: 0, failingSinceMs: null };
  return { ...before, failures: before.failures + 1, failingSinceMs: before.failingSinceMs ?? atMs };
}
