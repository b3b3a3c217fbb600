/** The database can be read but not written. Members stay signed in and can read, and changes get 503. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { describeUnless, describeWithPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { canMountDisk, mountSmallDisk, type SmallDisk } from '../support/small-disk.js';
import { accountToken, memberWithPassword, GOOD_PASSWORD, PanelBrowser } from '../support/signed-in.js';

const MINUTE_MS = 60_000;

/** Tests reads and changes by a signed-in member and by a token, before, during and after the database is read-only. */
async function testReadOnly(database: DatabaseHandle, unwritable: () => Promise<void>, writable: () => Promise<void>) {
  const running = await startAdmin(database);
  try {
    await expectReadsButNoChanges(running, database, unwritable, writable);
  } finally {
    await running.close();
    await database.close();
  }
}

async function expectReadsButNoChanges(
  running: RunningAdmin,
  database: DatabaseHandle,
  unwritable: () => Promise<void>,
  writable: () => Promise<void>,
) {
  const { id } = await running.admin.createAccount({ plan: 'starter' });
  const { email } = await memberWithPassword(database, running, { roles: { [id]: 'owner' } });
  const own = new PanelBrowser(running.url);
  await own.call('POST', '/sign-in/password', { email, password: GOOD_PASSWORD });
  const token = await accountToken(running, id, 'viewer');
  const keys = `/accounts/${id}/api-keys`;
  const lastSeen = async () => {
    const { data } = await own.call<{ data: { last_seen_at: string }[] }>('GET', '/me/sessions');
    return data[0]?.last_seen_at;
  };
  const before = await lastSeen();
  /** Waits until reads work. PostgreSQL has ended all sessions, and the first requests may still get one of them. */
  const reads = () => eventually('reads succeed', async () => (await own.ask('GET', '/me')).status === 200);
  await unwritable();
  await reads();
  for (let time = 0; time < 3; time++) {
    running.clock.advance(5 * MINUTE_MS);
    expect((await own.ask('GET', '/me')).status).toBe(200);
    expect((await own.ask('GET', keys)).status).toBe(200);
    expect((await send(`${running.url}/admin/v1${keys}`, { headers: token })).status).toBe(200);
  }
  const changes = [
    ['PATCH', '/me', { name: 'x'.repeat(200) }],
    ['POST', '/sign-in/password', { email, password: GOOD_PASSWORD }],
    ['POST', '/sign-out', undefined],
  ] as const;
  for (const [method, path, body] of changes) {
    const answer = await own.ask(method, path, body);
    expect([path, answer.status, answer.json().code]).toEqual([path, 503, 'database_unavailable']);
  }
  expect(await lastSeen()).toBe(before);
  expect(running.log.filter((line) => line.includes('"last_use_not_noted"')).length).toBe(3);
  // Uses during the outage were not stored, so the session expires as if they had not happened.
  await writable();
  await reads();
  running.clock.advance(14 * MINUTE_MS);
  expect((await own.ask('GET', '/me')).status).toBe(200);
  expect(await lastSeen()).not.toBe(before);
}

describeWithPostgres('members on a read-only PostgreSQL', () => {
  let place: FreshDatabase;
  beforeAll(async () => {
    place = await freshDatabase();
  });
  afterAll(() => place.drop());

  it('stay signed in and can read, and their changes get 503', async () => {
    const database = await openDatabase({ databaseUrl: place.url, dataDir: '' });
    const readOnly = (isReadOnly: boolean) => async () => {
      const client = new pg.Client({ connectionString: place.url });
      await client.connect();
      const name = new URL(place.url).pathname.slice(1);
      await client.query('set default_transaction_read_only = off');
      await client.query(`alter database "${name}" set default_transaction_read_only = ${isReadOnly}`);
      const others =
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()';
      await client.query(others, [name]);
      await client.end();
    };
    await testReadOnly(database, readOnly(true), readOnly(false));
  });
});

describeUnless(canMountDisk() ? null : 'needs root on Linux, to mount a small disk')(
  'members on a disk that is full',
  () => {
    let disk: SmallDisk;
    beforeAll(() => {
      disk = mountSmallDisk(8);
    });
    afterAll(() => disk.unmount());

    it('stay signed in and can read, and their changes get 503', async () => {
      const database = await openDatabase({ dataDir: `${disk.folder}/data` });
      await testReadOnly(
        database,
        async () => disk.fill(),
        async () => disk.clear(),
      );
    });
  },
);
