/** Several nodes share the remaining limit during a real Redis outage, and count those requests afterwards. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { systemClock } from '../../src/platform/clock.js';
import { openRedisQuotas, type Quotas } from '../../src/quota/open-quotas.js';
import { testDatabase } from '../support/database.js';
import { describeWithOwnRedis } from '../support/describe-with.js';
import { eventually, sleep } from '../support/processes.js';
import { subjectWith, UTC_MONTHS } from '../support/quotas.js';
import { startRedis, type RedisServer } from '../support/redis.js';
import { ACCOUNT_MONTH } from '../../src/platform/quotas/windows.js';

const NODES = 3;
/** Longer than the heartbeat interval of one second, so that all nodes know each other. */
const ALL_HEARD_MS = 1_200;

describeWithOwnRedis('three nodes during a Redis outage', () => {
  let redis: RedisServer;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let nodes: Quotas[];
  beforeEach(async () => {
    redis = await startRedis({ appendonly: true, extraArgs: ['--appendfsync', 'always'] });
    database = await testDatabase('sqlite');
    const parts = { db: database.db, kind: database.kind, clock: systemClock, log: pino({ level: 'silent' }) };
    nodes = [];
    for (let node = 0; node < NODES; node++) nodes.push(await openRedisQuotas(parts, redis.url));
    // Adds a process that serves no requests. It gets no share.
    nodes.push(await openRedisQuotas(parts, redis.url, false));
    await sleep(ALL_HEARD_MS);
  });
  afterEach(async () => {
    await Promise.all(nodes.map((node) => node.stop()));
    await redis.stop();
    await database.close();
  });

  it('admit exactly the remaining month limit together, and no more once Redis is back', async () => {
    const subjects = nodes.map(() => subjectWith({ accountMonth: 100 }));
    const decide = async (node: number) => nodes[node]!.limiter.decide(subjects[node]!, 1);
    for (let request = 0; request < 40; request++) expect((await decide(request % NODES)).admitted).toBe(true);
    // Lets each node learn the usage of the account.
    for (let node = 0; node < NODES; node++) await nodes[node]!.limiter.decide(subjects[node]!, 0);
    await redis.kill9();
    const admitted = [0, 0, 0];
    for (let request = 0; request < 50 * NODES; request++) {
      if ((await decide(request % NODES)).admitted) admitted[request % NODES]! += 1;
    }
    expect(admitted).toEqual([20, 20, 20]);
    await redis.restart();
    await eventually('all nodes decide by Redis again', async () =>
      nodes.slice(0, NODES).every(({ limiter }) => limiter.storeUp),
    );
    expect((await nodes[0]!.limiter.read('acc_1', undefined, UTC_MONTHS)).used[ACCOUNT_MONTH]).toBe(100);
    for (let node = 0; node < NODES; node++) expect((await decide(node)).admitted).toBe(false);
  });
});
