/** Starts groups of real redis-servers: a master with a replica and a Sentinel, or a Cluster. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually, freePort, temporaryFolder } from './processes.js';
import { startRedis, type RedisServer } from './redis.js';

const DOWN_AFTER_MS = 500;
/** Long, because a busy machine can stop all nodes for seconds. They must not take each other for failed. */
const CLUSTER_NODE_TIMEOUT_MS = '15000';

export interface SentinelGroup {
  readonly url: string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  stop(): Promise<void>;
}

/** Starts a master named `mymaster`, a replica, and a Sentinel that fails over. The caller must stop them. */
export async function startSentinelGroup(): Promise<SentinelGroup> {
  const master = await startRedis();
  const replica = await startRedis({ extraArgs: ['--replicaof', `127.0.0.1 ${master.port}`] });
  await asked(replica.port, 'the replica follows', async (client) =>
    (await client.info('replication')).includes('master_link_status:up'),
  );
  const sentinel = await startSentinel(master.port);
  await asked(sentinel.port, 'the Sentinel knows the replica', async (client) => {
    const replicas = (await client.call('SENTINEL', 'REPLICAS', 'mymaster')) as unknown[];
    return replicas.length === 1;
  });
  return {
    url: `redis+sentinel://127.0.0.1:${sentinel.port}/mymaster`,
    master,
    replica,
    async stop() {
      await Promise.all([sentinel.stop(), replica.stop(), master.stop()]);
    },
  };
}

async function startSentinel(masterPort: number): Promise<RedisServer> {
  const port = await freePort();
  const file = join(temporaryFolder('sentinel'), 'sentinel.conf');
  const lines = [
    `sentinel monitor mymaster 127.0.0.1 ${masterPort} 1`,
    `sentinel down-after-milliseconds mymaster ${DOWN_AFTER_MS}`,
    'sentinel failover-timeout mymaster 3000',
  ];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return startRedis({ port, sentinelFile: file });
}

export interface ClusterGroup {
  readonly url: string;
  readonly masters: readonly RedisServer[];
  /** Deletes all keys. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts three masters without replicas, each with a third of the slots. If one fails, only its slots are unavailable.
 * The caller must stop them.
 */
export async function startCluster(): Promise<ClusterGroup> {
  const extraArgs = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    CLUSTER_NODE_TIMEOUT_MS,
    '--cluster-require-full-coverage',
    'no',
  ];
  const masters = await Promise.all([1, 2, 3].map(() => startRedis({ extraArgs, clusterable: true })));
  const bounds = [0, 5_461, 10_923, 16_384];
  for (const [index, master] of masters.entries()) {
    await asked(master.port, 'the node has its slots', async (client) => {
      await client.call('CLUSTER', 'ADDSLOTSRANGE', bounds[index]!, bounds[index + 1]! - 1);
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      return true;
    });
  }
  for (const other of masters.slice(1)) {
    await asked(masters[0]!.port, 'the nodes meet', async (client) => {
      await client.call('CLUSTER', 'MEET', '127.0.0.1', other.port);
      return true;
    });
  }
  for (const { port } of masters) {
    await asked(port, 'the cluster is ready', async (client) => {
      const info = String(await client.call('CLUSTER', 'INFO'));
      return (
        info.includes('cluster_state:ok') &&
        info.includes('cluster_known_nodes:3') &&
        info.includes('cluster_slots_ok:16384')
      );
    });
  }
  return {
    url: `redis+cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    masters,
    async empty() {
      const flush = async (client: Redis): Promise<boolean> => (await client.flushall()) === 'OK';
      for (const { port } of masters) await asked(port, 'the node is empty', flush);
    },
    async stop() {
      await Promise.all(masters.map((master) => master.stop()));
    },
  };
}

/** Polls a server on a new connection until `check` returns true. */
async function asked(port: number, what: string, check: (client: Redis) => Promise<boolean>): Promise<void> {
  const client = new Redis(port, '127.0.0.1');
  try {
    await eventually(what, () => check(client));
  } finally {
    client.disconnect();
  }
}
