/**
 * Writes the results of many attempts in one transaction. Every attempt is recorded, unless its delivery was deleted.
 * If a process has lost the lane and another process has already changed the delivery, a late failure does not change
 * the delivery. A late success does, unless the delivery was replayed.
 */
import { sql, type Kysely, type QueryResult, type RawBuilder } from 'kysely';
import type { DatabaseHandle } from '../../../stores/database/connect.js';
import { kindOf } from '../../../stores/database/database-kind.js';
import { newId } from '../../../stores/database/ids.js';
import { jsonRows, type JsonColumn } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import type { WebhookDeliveryTable } from '../../../stores/database/tables/webhook-tables.js';
import { executeBatch, executeBatchInTransaction } from '../../../stores/database/statement-batch.js';
import type { DueDelivery } from './due-deliveries.js';
import { lockLanes, lockOrdered, releaseNext, releaseOrdered, type ResourceOfEndpoint } from './order.js';

/** Maximum number of characters of a response body that are stored. */
const LONGEST_KEPT_BODY = 1_024;

/** One HTTP request and its result. */
export interface MadeAttempt {
  /** Start of the request in milliseconds since the epoch. */
  readonly atMs: number;
  readonly durationMs: number;
  /** Null without a response. */
  readonly statusCode: number | null;
  /** Reason for a missing response; null with a response. */
  readonly error: string | null;
  /** Remote address of the response; null without a response. */
  readonly address: string | null;
  /** Beginning of the response body; null without a response. */
  readonly responseBody: string | null;
}

/** State of a delivery after an attempt. */
export type DeliveryOutcome =
  | { readonly state: 'succeeded' }
  | { readonly state: 'failed'; readonly reason: NonNullable<WebhookDeliveryTable['reason']> }
  | { readonly state: 'pending'; readonly dueAtMs: number };

/** An attempt, with its delivery as read before the attempt. */
export interface AttemptRecord {
  readonly delivery: Pick<DueDelivery, 'id' | 'endpointId' | 'resource' | 'attempts' | 'cycle'>;
  readonly attempt: MadeAttempt;
  /** URL of the attempt. */
  readonly url: string;
  readonly outcome: DeliveryOutcome;
  /** Whether the endpoint is ordered. The end of this delivery then releases the next delivery of its resource. */
  readonly isOrdered: boolean;
}

/** Summary of some attempts of an endpoint, which changes its health. */
export interface EndpointHealth {
  readonly endpointId: string;
  /** Time of the latest success; null if there was none. */
  readonly succeededAtMs: number | null;
  /** Number of failures after that success, and the time of the first one; null if there were none. */
  readonly failures: number;
  readonly failingSinceMs: number | null;
}

/** The changes that `writeResults` made. */
export interface WrittenResults {
  /** IDs of deliveries that were changed. For all others, the result was too late. */
  readonly changed: ReadonlySet<string>;
  /** IDs of endpoints with released deliveries, which are due now. */
  readonly released: readonly string[];
}

type Value = string | number | null;

const text = (name: string): JsonColumn => ({ name, type: 'text' });
const number = (name: string): JsonColumn => ({ name, type: 'bigint' });

const RESULT_COLUMNS = [
  text('delivery_id'),
  number('read_cycle'),
  number('read_attempts'),
  text('new_state'),
  text('new_reason'),
  number('new_due_at'),
];

const ATTEMPT_COLUMNS = [
  text('new_id'),
  text('of_delivery'),
  number('of_number'),
  number('of_cycle'),
  number('made_at'),
  number('status'),
  number('duration'),
  text('failure'),
  text('peer'),
  text('body'),
];

const HEALTH_COLUMNS: readonly JsonColumn[] = [
  { name: 'of_endpoint', type: 'text' },
  { name: 'succeeded_at', type: 'bigint' },
  { name: 'more_failures', type: 'bigint' },
  { name: 'since', type: 'bigint' },
];

/**
 * Writes results and the health of their endpoints. Rejects if the database fails. Nothing is written then, and the
 * call can be repeated.
 */
export async function writeResults(
  db: Kysely<Tables>,
  records: readonly AttemptRecord[],
  health: readonly EndpointHealth[],
  nowMs: number,
): Promise<WrittenResults> {
  const ended = endedResources(records, true);
  const unordered = endedResources(records, false);
  const kind = kindOf(db);
  const healthQueries = health.length === 0 ? [] : [healthUpdate(kind, health).compile(db)];
  const writes = [outcomeUpdate(kind, records, nowMs).compile(db), attemptInsert(kind, records, nowMs).compile(db)];
  // An endpoint may have become ordered during the attempts. Release deliveries that waited for these deliveries.
  const late = unordered.length === 0 ? [] : [releaseOrdered(kind, unordered, nowMs).compile(db)];
  // All transactions lock in this order: endpoint, lane, deliveries.
  if (ended.length === 0) {
    const locks = unordered.length === 0 ? [] : [lockOrdered(kind, endpointsOf(unordered)).compile(db)];
    const results = await executeBatchInTransaction(db, [...healthQueries, ...locks, ...writes, ...late]);
    const outcomes = results[healthQueries.length + locks.length];
    return { changed: idsIn(outcomes), released: late.length === 0 ? [] : endpointsIn(results.at(-1)) };
  }
  return db.transaction().execute(async (trx) => {
    await executeBatch(trx, healthQueries);
    await lockLanes(trx, endpointsOf([...ended, ...unordered]));
    const results = await executeBatch(trx, [...writes, ...late]);
    const lateReleased = late.length === 0 ? [] : endpointsIn(results.at(-1));
    return { changed: idsIn(results[0]), released: [...lateReleased, ...(await releaseNext(trx, ended, nowMs))] };
  });
}

function endpointsIn(result: QueryResult<unknown> | undefined): string[] {
  return [...new Set(((result?.rows ?? []) as { endpoint_id: string }[]).map((row) => row.endpoint_id))];
}

function endpointsOf(resources: readonly ResourceOfEndpoint[]): string[] {
  return [...new Set(resources.map(({ endpointId }) => endpointId))];
}

function idsIn(result: QueryResult<unknown> | undefined): ReadonlySet<string> {
  return new Set(((result?.rows ?? []) as { id: string }[]).map(({ id }) => id));
}

/** Returns the resources of ended deliveries, for endpoints that are ordered or not. */
function endedResources(records: readonly AttemptRecord[], wantOrder: boolean): ResourceOfEndpoint[] {
  return records.flatMap(({ delivery: { endpointId, resource }, outcome, isOrdered }) =>
    isOrdered === wantOrder && resource !== null && outcome.state !== 'pending' ? [{ endpointId, resource }] : [],
  );
}

function outcomeUpdate(
  kind: DatabaseHandle['kind'],
  records: readonly AttemptRecord[],
  nowMs: number,
): RawBuilder<unknown> {
  const rows = records.map(({ delivery: { id, cycle, attempts }, outcome }): Value[] => {
    const reason = outcome.state === 'failed' ? outcome.reason : null;
    return [id, cycle, attempts, outcome.state, reason, outcome.state === 'pending' ? outcome.dueAtMs : null];
  });
  return sql`
    update webhook_delivery set state = new_state, reason = new_reason, due_at = coalesce(new_due_at, due_at),
      attempts = case when attempts > read_attempts then attempts else read_attempts + 1 end, updated_at = ${nowMs}
    from ${jsonRows(kind, RESULT_COLUMNS, rows, 'result')}
    where id = delivery_id and cycle = read_cycle and (
      (state = 'pending' and attempts = read_attempts) or (new_state = 'succeeded' and state <> 'succeeded'))
    returning id`;
}

function attemptInsert(
  kind: DatabaseHandle['kind'],
  records: readonly AttemptRecord[],
  nowMs: number,
): RawBuilder<unknown> {
  const rows = records.map(({ delivery: { id, cycle, attempts }, attempt }): Value[] => [
    newId('wha', nowMs),
    id,
    attempts + 1,
    cycle,
    attempt.atMs,
    attempt.statusCode,
    attempt.durationMs,
    attempt.error,
    attempt.address,
    storable(attempt.responseBody),
  ]);
  // The join excludes deliveries that were deleted meanwhile.
  return sql`
    insert into webhook_attempt (id, delivery_id, number, cycle, at, status_code, duration_ms, error, address,
      response_body)
    select new_id, of_delivery, of_number, of_cycle, made_at, status, duration, failure, peer, body
    from ${jsonRows(kind, ATTEMPT_COLUMNS, rows, 'made')}
    join webhook_delivery on webhook_delivery.id = of_delivery`;
}

/** Returns a statement that updates each endpoint, in a fixed order to avoid deadlocks. */
function healthUpdate(kind: DatabaseHandle['kind'], health: readonly EndpointHealth[]): RawBuilder<unknown> {
  const rows = health
    .toSorted((one, other) => (one.endpointId < other.endpointId ? -1 : 1))
    .map((each) => [each.endpointId, each.succeededAtMs, each.failures, each.failingSinceMs]);
  return sql`
    update webhook_endpoint set last_success_at = coalesce(succeeded_at, last_success_at),
      failing_since = case when succeeded_at is null then coalesce(failing_since, since) else since end,
      failures = case when succeeded_at is null then failures else 0 end + more_failures
    from ${jsonRows(kind, HEALTH_COLUMNS, rows, 'health')} where id = of_endpoint`;
}

/**
 * Truncates a body, and replaces NUL and unpaired surrogates. PostgreSQL would reject these characters with the whole
 * batch.
 */
function storable(body: string | null): string | null {
  return body === null ? null : body.slice(0, LONGEST_KEPT_BODY).toWellFormed().replaceAll('\0', '\u{fffd}');
}
