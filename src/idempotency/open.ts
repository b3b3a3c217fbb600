/** Puts requests with an `Idempotency-Key` together: their records are where quotas are counted. */
import type { Ground } from '../config/ground.js';
import type { Logger } from '../platform/log.js';
import { connectRedis, REDIS_START_TIMEOUT_MS, redisReady } from '../stores/redis/connect.js';
import { DatabaseRecords, type RecordTime } from './database-records.js';
import { KeyedRequests } from './keyed-requests.js';
import { RedisRecords } from './redis-records.js';

/**
 * Opens them; where there is Redis on a connection of their own, so that a response keeps no decision waiting. Rejects
 * where that does not answer at start.
 */
export async function openKeyedRequests(ground: Ground, recordTime: RecordTime): Promise<KeyedRequests> {
  const { config, database, clock, log, gauges, shutdown } = ground;
  const { redisUrl } = config.current.environment;
  const store =
    redisUrl === undefined ? new DatabaseRecords(database.db, recordTime) : await redisRecords(redisUrl, log.logger);
  const requests = new KeyedRequests(store, clock, log.logger);
  gauges.push(requests);
  // Behind the last response.
  shutdown.add('write what came of keyed requests', () => requests.stop());
  return requests;
}

async function redisRecords(redisUrl: string, log: Logger): Promise<RedisRecords> {
  const client = connectRedis(redisUrl, 'idempotency', log);
  try {
    await redisReady(client, REDIS_START_TIMEOUT_MS);
  } catch (error) {
    client.disconnect();
    throw error;
  }
  return new RedisRecords(client, log);
}
