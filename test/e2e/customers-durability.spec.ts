/** The customers backend keeps what it has acknowledged, and leaves nothing unfinished, even if it is killed. */
import { describe, expect, it } from '@jest/globals';
import { sqliteStore, type CustomerStore } from '../support/customer-stores.js';
import { CustomersClient, type CustomerBody } from '../support/customers-client.js';
import { spawnCustomers, startCustomers } from '../support/customers.js';
import { sleep } from '../support/processes.js';

const FIRST = 'acc_first';
const SECOND = 'acc_second';
const SEEDS = { CUSTOMERS_SEED_ACCOUNTS: `${FIRST},${SECOND}` };
const idsOf = (customers: readonly CustomerBody[]) => customers.map(({ id }) => id);

describe('the customers backend survives', () => {
  it('kill -9: every acknowledged customer is kept, and the account is not seeded again', async () => {
    const store = await sqliteStore();
    const backend = await startCustomers(store.env);
    const client = new CustomersClient(backend.url, 'acc_durable');
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let i = 0; ; i++) {
        const { status, body } = await client.create(`w${writer}-${i}@example.com`);
        if (status === 201) acknowledged.push(body.id);
      }
    });
    const ended = Promise.allSettled(writers);
    while (acknowledged.length < 200) await sleep(5);
    await backend.kill9();
    await ended;

    const again = await startCustomers({ ...store.env, CUSTOMERS_SEED_ACCOUNTS: 'acc_durable' });
    const kept = new Set(idsOf(await new CustomersClient(again.url, 'acc_durable').walk()));
    await again.stop();
    await store.drop();
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    // Each writer may have one more customer that was written but not acknowledged.
    expect(kept.size).toBeLessThanOrEqual(acknowledged.length + writers.length);
  });

  it('kill -9 while seeding: nothing of it remains, and the next start seeds everything', async () => {
    const store = await killedWhileSeeding();
    const backend = await startCustomers({ ...store.env, ...SEEDS });
    const all = await new CustomersClient(backend.url, FIRST).walk();
    await backend.stop();
    await store.drop();
    expect(new Set(idsOf(all)).size).toBe(10_000);
  });

  it('a simultaneous first start of three processes: one seeds, and all serve', async () => {
    const store = await sqliteStore();
    const backends = await Promise.all(
      [1, 2, 3].map(() => startCustomers({ ...store.env, CUSTOMERS_SEED_ACCOUNTS: `x,${SECOND}` })),
    );
    const counts = await Promise.all(
      backends.map(async ({ url }) => (await new CustomersClient(url, SECOND).walk()).length),
    );
    await Promise.all(backends.map((backend) => backend.stop()));
    await store.drop();
    expect(counts).toEqual([50, 50, 50]);
  });
});

/** Returns a store whose first process was killed between its first write and its commit. */
async function killedWhileSeeding(): Promise<CustomerStore> {
  // On a busy machine the kill may come after the commit. Then all customers exist, and the loop tries again.
  for (let attempt = 0; attempt < 5; attempt++) {
    const store = await sqliteStore();
    const dying = spawnCustomers({ ...store.env, ...SEEDS });
    await store.waitForUncommittedWrite();
    await dying.end('SIGKILL');
    if (!(await store.hasTables())) return store;
    const seeded = await startCustomers(store.env);
    const all = await new CustomersClient(seeded.url, FIRST).walk();
    await seeded.stop();
    await store.drop();
    if (all.length !== 10_000) throw new Error(`only ${all.length} of 10,000 customers were stored`);
  }
  throw new Error('the process finished before it was killed, in each attempt');
}
