/**
 * Settings of an endpoint that its lane owner needs. Read when a lane is claimed, on notification, and periodically.
 */
import type { Kysely } from 'kysely';
import { kindOf } from '../../../stores/database/database-kind.js';
import { textList } from '../../../stores/database/json-rows.js';
import type { Tables } from '../../../stores/database/schema.js';
import { USUAL_RETRY_SCHEDULE_MS } from './retry-schedule.js';

/** Settings of a webhook endpoint for attempts. */
export interface LaneEndpoint {
  readonly id: string;
  readonly accountId: string;
  readonly url: string;
  /** Whether attempts may be made: enabled and not deleted. */
  readonly isEnabled: boolean;
  readonly isOrdered: boolean;
  readonly scheduleMs: readonly number[];
  /** Null for the default, as the next two. */
  readonly ratePerSecond: number | null;
  readonly concurrency: number | null;
  readonly timeoutMs: number | null;
  /** Whether the latest finished attempt succeeded. */
  readonly hasDoneWell: boolean;
  /** Incremented by every configuration change. */
  readonly version: number;
}

const COLUMNS = [
  'id',
  'account_id',
  'url',
  'status',
  'deleted_at',
  'ordered',
  'retry_schedule',
  'rate_per_second',
  'concurrency',
  'timeout_ms',
  'last_success_at',
  'failing_since',
  'version',
] as const;

const MS_PER_SECOND = 1_000;

/** Reads endpoints by ID. Missing ones are left out of the result. */
export async function readLaneEndpoints(db: Kysely<Tables>, ids: readonly string[]): Promise<LaneEndpoint[]> {
  if (ids.length === 0) return [];
  const rows = await db
    .selectFrom('webhook_endpoint')
    .select(COLUMNS)
    .where('id', 'in', textList(kindOf(db), ids))
    .execute();
  return rows.map((row) => ({
    id: row.id,
    accountId: row.account_id,
    url: row.url,
    isEnabled: row.status === 'enabled' && row.deleted_at === null,
    isOrdered: row.ordered === 1,
    scheduleMs: row.retry_schedule === null ? USUAL_RETRY_SCHEDULE_MS : inMs(row.retry_schedule),
    ratePerSecond: row.rate_per_second,
    concurrency: row.concurrency,
    timeoutMs: row.timeout_ms,
    hasDoneWell: row.last_success_at !== null && row.failing_since === null,
    version: row.version,
  }));
}

function inMs(schedule: string): readonly number[] {
  return (JSON.parse(schedule) as number[]).map((seconds) => seconds * MS_PER_SECOND);
}
