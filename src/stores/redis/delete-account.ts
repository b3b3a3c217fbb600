/** Deletes the Redis keys of an account: counters, markers and idempotency records. */
import type { Cluster, Redis } from 'ioredis';
import { connectRedis, REDIS_START_TIMEOUT_MS, redisReady, type ConnectionLog } from './connect.js';
import { IDEMPOTENCY_PREFIX, PREFIX } from './keys.js';

const KEYS_PER_SCAN = 1_000;

/**
 * Deletes all Redis keys that belong to an account or to one of its API keys. Scans every master. Opens a separate
 * connection for the scan. Rejects with the error of Redis.
 */
export async function deleteAccountInRedis(
  url: string,
  accountId: string,
  apiKeyIds: ReadonlySet<string>,
  log: ConnectionLog,
): Promise<void> {
  const client = connectRedis(url, 'deletion', log);
  const isOfAccount = (key: string): boolean =>
    key.includes(accountId) ||
    (key.startsWith(IDEMPOTENCY_PREFIX) && apiKeyIds.has(key.slice(IDEMPOTENCY_PREFIX.length).split(':')[0] ?? ''));
  try {
    await redisReady(client, REDIS_START_TIMEOUT_MS);
    const masters = client.isCluster ? (client as Cluster).nodes('master') : [client as Redis];
    for (const master of masters) {
      for (let cursor = '0', found: string[] = [], isFirst = true; isFirst || cursor !== '0'; isFirst = false) {
        [cursor, found] = await master.scan(cursor, 'MATCH', `${PREFIX}:*`, 'COUNT', KEYS_PER_SCAN);
        // Each key is deleted by its own call, because the keys of a Cluster are in different slots.
        await Promise.all(found.filter(isOfAccount).map((key) => master.unlink(key)));
      }
    }
  } finally {
    client.disconnect();
  }
}
