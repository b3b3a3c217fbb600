/** Opens the store for idempotency records, which is Redis if it is configured, and otherwise the database. */
import type { SharedDependencies } from '../config/shared-dependencies.js';
import type { Logger } from '../platform/log.js';
import { connectRedis, redisReady } from '../stores/redis/connect.js';
import { DatabaseRecords, type RecordTime } from './database-records.js';
import { KeyedRequests } from './keyed-requests.js';
import { RedisRecords } from './redis-records.js';

/** Maximum wait for Redis at startup. Until Redis is available, requests with an `Idempotency-Key` get 503. */
const CONNECTION_WAIT_MS = 1_000;

/**
 * Opens the store, and registers its gauges and its shutdown. Redis gets a separate connection, so that large stored
 * responses do not delay quota decisions.
 */
export async function openKeyedRequests(shared: SharedDependencies, recordTime: RecordTime): Promise<KeyedRequests> {
  const { config, database, clock, log, gauges, shutdown } = shared;
  const { redisUrl } = config.current.environment;
  const store =
    redisUrl === undefined ? new DatabaseRecords(database.db, recordTime) : await redisRecords(redisUrl, log.logger);
  const requests = new KeyedRequests(store, clock, log.logger);
  gauges.push(requests);
  // Shutdown phases run in reverse order, so the gateway sends its last response before this phase.
  shutdown.add('write idempotency outcomes', () => requests.stop());
  return requests;
}

async function redisRecords(redisUrl: string, log: Logger): Promise<RedisRecords> {
  const client = connectRedis(redisUrl, 'idempotency', log);
  await redisReady(client, CONNECTION_WAIT_MS).catch(() => undefined);
  return new RedisRecords(client, log);
}
