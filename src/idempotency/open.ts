/** Opens the store for requests with an `Idempotency-Key`: Redis if it is configured, otherwise the database. */
import type { Ground } from '../config/ground.js';
import type { Logger } from '../platform/log.js';
import { connectRedis, redisReady } from '../stores/redis/connect.js';
import { DatabaseRecords, type RecordTime } from './database-records.js';
import { KeyedRequests } from './keyed-requests.js';
import { RedisRecords } from './redis-records.js';

/** Maximum wait for the connection, so that the first request finds one. Without Redis, requests get 503 until it is back. */
const CONNECTION_WAIT_MS = 1_000;

/**
 * Opens the store and registers its shutdown. Redis gets a separate connection, so that stored responses do not delay
 * quota decisions.
 */
export async function openKeyedRequests(ground: Ground, recordTime: RecordTime): Promise<KeyedRequests> {
  const { config, database, clock, log, gauges, shutdown } = ground;
  const { redisUrl } = config.current.environment;
  const store =
    redisUrl === undefined ? new DatabaseRecords(database.db, recordTime) : await redisRecords(redisUrl, log.logger);
  const requests = new KeyedRequests(store, clock, log.logger);
  gauges.push(requests);
  // After the last response.
  shutdown.add('write what came of keyed requests', () => requests.stop());
  return requests;
}

async function redisRecords(redisUrl: string, log: Logger): Promise<RedisRecords> {
  const client = connectRedis(redisUrl, 'idempotency', log);
  await redisReady(client, CONNECTION_WAIT_MS).catch(() => undefined);
  return new RedisRecords(client, log);
}
