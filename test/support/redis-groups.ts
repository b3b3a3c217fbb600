/** Several real redis-servers that belong together: a master with a replica and a Sentinel, and a Cluster. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually, freePort, temporaryFolder } from './processes.js';
import { startRedis, type RedisServer } from './redis.js';

const DOWN_AFTER_MS = 500;
/** A busy machine can stop all of them for seconds: that is no reason to take each other for dead. */
const CLUSTER_NODE_TIMEOUT_MS = '15000';

export interface SentinelGroup {
  readonly url: string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  stop(): Promise<void>;
}

/** A master called `mymaster`, one replica, one Sentinel that fails over by itself. */
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
  /** Forgets every key. */
  empty(): Promise<void>;
  stop(): Promise<void>;
}

/** Three masters without replicas that hold a third of the slots each. One that dies takes its own slots with it only. */
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
    await asked(master.port, 'slots are given', async (client) => {
      await client.call('CLUSTER', 'ADDSLOTSRANGE', bounds[index]!, bounds[index + 1]! - 1);
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      return true;
    });
  }
  for (const other of masters.slice(1)) {
    await asked(masters[0]!.port, 'they meet', async (client) => {
      await client.call('CLUSTER', 'MEET', '127.0.0.1', other.port);
      return true;
    });
  }
  for (const { port } of masters) {
    await asked(port, 'the cluster stands', async (client) => {
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
      for (const { port } of masters) await asked(port, 'it is empty', flush);
    },
    async stop() {
      await Promise.all(masters.map((master) => master.stop()));
    },
  };
}

/** Polls a server over a connection of its own. */
async function asked(port: number, what: string, check: (client: Redis) => Promise<boolean>): Promise<void> {
  const client = new Redis(port, '127.0.0.1');
  try {
    await eventually(what, () => check(client));
  } finally {
    client.disconnect();
  }
}
