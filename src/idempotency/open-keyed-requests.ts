/** Puts requests with an `Idempotency-Key` together: their records are where quotas are counted. */
import type { Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import type { Logger } from '../platform/log.js';
import { connectRedis, REDIS_START_TIMEOUT_MS, redisReady } from '../stores/redis/connect.js';
import { DatabaseRecords, type RecordTime } from './database-records.js';
import { KeyedRequests } from './keyed-requests.js';
import { RedisRecords } from './redis-records.js';

/** KeyedRequestsParts is what they are put together from. */
export interface KeyedRequestsParts {
  readonly db: Kysely<Tables>;
  readonly recordTime: RecordTime;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Opens them; where there is Redis on a connection of their own, so that a response keeps no decision waiting. Rejects
 * where that does not answer at start.
 */
export async function openKeyedRequests(
  { db, recordTime, clock, log }: KeyedRequestsParts,
  redisUrl: string | undefined,
): Promise<KeyedRequests> {
  if (redisUrl === undefined) return new KeyedRequests(new DatabaseRecords(db, recordTime), clock, log);
  const client = connectRedis(redisUrl, 'idempotency', log);
  try {
    await redisReady(client, REDIS_START_TIMEOUT_MS);
  } catch (error) {
    client.disconnect();
    throw error;
  }
  return new KeyedRequests(new RedisRecords(client, log), clock, log);
}
