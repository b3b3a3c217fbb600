/** Every node status store keeps the last status of each node for a minute, for a limited number of nodes. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { sql } from 'kysely';
import { pino } from 'pino';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { DatabaseNodeStatusStore } from '../../src/nodes/database-node-status-store.js';
import { RedisNodeStatusStore } from '../../src/nodes/redis-node-status-store.js';
import { MAX_NODES, NODE_STATUS_LIFETIME_MS, type NodeStatusStore } from '../../src/nodes/node-status-store.js';
import { STATEMENT_TIMES_KEY, STATEMENTS_KEY } from '../../src/stores/redis/keys.js';
import { testDatabase } from '../support/database.js';
import { describeWithPostgres, describeWithRedis } from '../support/describe-with.js';
import { eventually } from '../support/processes.js';
import { sharedRedisUrl } from '../support/redis.js';

let store: NodeStatusStore;
const idsOf = async (): Promise<string[]> => (await store.listStatuses()).map(({ id }) => id).toSorted();

/** Defines the tests of every store. @param age Makes the status of a node older. */
function promises(age: (id: string, ms: number) => Promise<void>): void {
  it('return the last text and age of each node until it is removed', async () => {
    await store.saveStatus('a', 'first');
    await store.saveStatus('b', 'other');
    await store.saveStatus('a', 'second "ü"');
    await age('b', 5_000);
    const statuses = new Map((await store.listStatuses()).map((each) => [each.id, each]));
    expect([statuses.get('a')?.text, statuses.get('b')?.text, statuses.size]).toEqual(['second "ü"', 'other', 2]);
    expect(statuses.get('b')!.ageMs - statuses.get('a')!.ageMs).toBeGreaterThanOrEqual(4_900);
    expect(statuses.get('a')!.ageMs).toBeGreaterThanOrEqual(0);
    await store.removeStatus('a');
    expect(await idsOf()).toEqual(['b']);
  });

  it('disappear after a minute', async () => {
    await store.saveStatus('old', 'text');
    await store.saveStatus('young', 'text');
    await age('old', NODE_STATUS_LIFETIME_MS + 1_000);
    expect(await idsOf()).toEqual(['young']);
    await store.saveStatus('new', 'text');
    await age('old', -NODE_STATUS_LIFETIME_MS);
    expect(await idsOf()).toEqual(['new', 'young']);
  });

  it('are limited in number, and the youngest are kept', async () => {
    for (let node = 0; node < MAX_NODES + 5; node++) await store.saveStatus(`n${node}`, 'text');
    await age('n3', 10_000);
    await store.saveStatus('last', 'text');
    const ids = await idsOf();
    expect(ids).toHaveLength(MAX_NODES);
    expect([ids.includes('last'), ids.includes('n3')]).toEqual([true, false]);
  });
}

describeWithRedis('node statuses in Redis', () => {
  let operator: Redis;
  beforeEach(async () => {
    const url = await sharedRedisUrl();
    operator = new Redis(url);
    await operator.del(STATEMENTS_KEY, STATEMENT_TIMES_KEY);
    store = new RedisNodeStatusStore(url, pino({ level: 'silent' }));
    await eventually('Redis is connected', () =>
      store.listStatuses().then(
        () => true,
        () => false,
      ),
    );
  });
  afterEach(async () => {
    await operator.del(STATEMENTS_KEY, STATEMENT_TIMES_KEY);
    operator.disconnect();
    store.close();
  });

  promises(async (id, ms) => {
    if ((await operator.zscore(STATEMENT_TIMES_KEY, id)) !== null) await operator.zincrby(STATEMENT_TIMES_KEY, -ms, id);
  });

  it('are stored in keys that expire, after more than a minute', async () => {
    await store.saveStatus('a', 'text');
    const lives = await Promise.all([STATEMENTS_KEY, STATEMENT_TIMES_KEY].map((key) => operator.pttl(key)));
    for (const life of lives) expect(life).toBeGreaterThan(NODE_STATUS_LIFETIME_MS);
  });
});

describeWithPostgres('node statuses in PostgreSQL', () => {
  let database: DatabaseHandle;
  beforeEach(async () => {
    database = await testDatabase('postgres');
    store = new DatabaseNodeStatusStore(database.db);
  });
  afterEach(() => database.close());

  promises(async (id, ms) => {
    await sql`update node_statement set said_at = said_at - cast(${ms} as bigint) where id = ${id}`.execute(
      database.db,
    );
  });
});
