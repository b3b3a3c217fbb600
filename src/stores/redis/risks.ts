/** Checks at the start for Redis settings that can lose counts: eviction, and restarts without persistence. */
import { Cluster, type Redis } from 'ioredis';
import type { ConnectionLog, RedisClient } from './connect.js';

/**
 * Logs a warning for each risk. Never rejects. Without permission for `INFO`, logs nothing, because the risks are
 * unknown.
 */
export async function warnOfRisks(client: RedisClient, log: ConnectionLog): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  await Promise.all(nodes.map((node) => warnOfNodeRisks(node, log)));
}

async function warnOfNodeRisks(client: Redis, log: ConnectionLog): Promise<void> {
  const [memory, persistence] = await Promise.all([readInfo(client, 'memory'), readInfo(client, 'persistence')]);
  const policy = memory['maxmemory_policy'];
  if (policy !== undefined && policy !== 'noeviction' && memory['maxmemory'] !== '0') {
    log.warn(
      { event: 'redis_may_evict', maxmemory_policy: policy },
      'Redis may evict counters when its memory is full: set maxmemory-policy noeviction',
    );
  }
  if (persistence['aof_enabled'] === '0') {
    log.warn(
      { event: 'redis_forgets' },
      'Redis keeps no append-only file: after a restart it has lost the minute windows, and the months since the ' +
        'last flush',
    );
  }
}

async function readInfo(client: Redis, name: string): Promise<Record<string, string>> {
  try {
    const lines = (await client.info(name)).split('\r\n').filter((line) => line.includes(':'));
    return Object.fromEntries(lines.map((line) => line.split(/:(.*)/s).slice(0, 2)));
  } catch {
    return {};
  }
}
