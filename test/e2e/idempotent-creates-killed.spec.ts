/** A process is killed while it creates an API key. The retry creates the key once, whenever the kill came. */
import { afterEach, expect, it } from '@jest/globals';
import { openDatabase, type DatabaseHandle, type OpenDatabaseOptions } from '../../src/stores/database/connect.js';
import type { Account } from '../support/admin.js';
import { describeWithPostgres } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { expectProblem } from '../support/problem.js';
import { eventually, sleep, temporaryFolder } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

const newKey = { name: 'Shop', scopes: ['customers:read'] };
let running: RunningTrailgate | undefined;

afterEach(async () => {
  await running?.stop();
});

function create({ adminUrl, adminToken }: RunningTrailgate, account: Account, key: string): Promise<Answer> {
  return send(`${adminUrl}/admin/v1/accounts/${account.id}/api-keys`, {
    method: 'POST',
    body: JSON.stringify(newKey),
    headers: { Authorization: `Bearer ${adminToken}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
  });
}

/** Counts the stored keys, audit entries and completed requests. Then ends the leases of open claims. */
async function countAndExpire(options: OpenDatabaseOptions) {
  const handle: DatabaseHandle = await openDatabase(options);
  const { db } = handle;
  const keys = await db.selectFrom('api_key').select('id').execute();
  const audited = await db.selectFrom('audit_entry').select('id').where('action', '=', 'api_key.created').execute();
  const requests = await db.selectFrom('idempotent_request').select(['key_hash', 'status']).execute();
  await db.updateTable('idempotent_request').set({ leased_until: 1 }).where('status', 'is', null).execute();
  await handle.close();
  return { keys: keys.length, audited: audited.length, done: requests.filter(({ status }) => status === 201).length };
}

it('a process killed while it creates a key stores nothing partial, and a retry yields one key (SQLite)', async () => {
  const options = { dataDir: temporaryFolder('killed') };
  running = await startTrailgate(options);
  const account = await running.admin.createAccount({ plan: 'unlimited' });
  const outcomes: string[] = [];
  for (let round = 1; round <= 4; round++) {
    const lost = create(running, account, `round ${round}`).catch(() => undefined);
    // The kills come from before the claim to after the response.
    await sleep(round * 5 - 5);
    await running.kill9();
    await lost;
    const killed = await countAndExpire(options);
    expect(killed).toMatchObject({ keys: killed.done, audited: killed.done });
    running = await startTrailgate(options);
    const retried = await create(running, account, `round ${round}`);
    outcomes.push(`${retried.status} ${String(retried.json()['code'] ?? 'made')}`);
    expect((await running.admin.listKeys(account.id)).data).toHaveLength(round);
  }
  expect(outcomes.filter((outcome) => !['201 made', '409 idempotency_secret_shown'].includes(outcome))).toEqual([]);
});

describeWithPostgres('after a kill between claim and change (PostgreSQL)', () => {
  let place: FreshDatabase;
  afterEach(() => place.drop());

  it('the retry is refused until the lease expires, and then creates the key once', async () => {
    place = await freshDatabase();
    const env = { DATABASE_URL: place.url };
    running = await startTrailgate({ env });
    const account = await running.admin.createAccount({ plan: 'unlimited' });
    const other = await openDatabase({ databaseUrl: place.url, dataDir: '' });
    const isClaimed = async () =>
      (await other.db.selectFrom('idempotent_request').select('status').execute()).length === 1;
    await other.db.transaction().execute(async (trx) => {
      // Locks the account. The claim gets stored, and the change waits for the lock.
      await trx.selectFrom('account').selectAll().where('id', '=', account.id).forUpdate().execute();
      const lost = create(running!, account, 'the one').catch(() => undefined);
      await eventually('the claim is stored', isClaimed);
      await running!.kill9();
      await lost;
    });
    await other.close();
    running = await startTrailgate({ env });
    expectProblem(await create(running, account, 'the one'), 'idempotency_in_progress');
    expect(await countAndExpire({ databaseUrl: place.url, dataDir: '' })).toEqual({ keys: 0, audited: 0, done: 0 });
    expect((await create(running, account, 'the one')).status).toBe(201);
    expectProblem(await create(running, account, 'the one'), 'idempotency_secret_shown');
    expect((await running.admin.listKeys(account.id)).data).toHaveLength(1);
  });
});
