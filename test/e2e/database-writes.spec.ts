/** A database that accepts no writes is reported in /readyz, in the metrics and in the log, and requests continue. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import pg from 'pg';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeUnless, describeWithPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { canMountDisk, mountSmallDisk, type SmallDisk } from '../support/small-disk.js';

/** Longer than the time without writes after which the probe writes itself. */
const NOTICED_MS = 20_000;

interface Check {
  readonly status: string;
  readonly detail?: string;
}

async function databaseCheck({ adminUrl }: RunningTrailgate): Promise<Check> {
  const { status, text } = await send(`${adminUrl}/readyz`);
  // The gateway still serves requests, so a load balancer must keep it.
  expect(status).toBe(200);
  return (JSON.parse(text) as { checks: { database: Check } }).checks.database;
}

const becomes = (gateway: RunningTrailgate, status: string): Promise<void> =>
  eventually(
    `the database check is ${status}`,
    async () => (await databaseCheck(gateway)).status === status,
    NOTICED_MS,
  );

async function isUp(gateway: RunningTrailgate): Promise<unknown> {
  const series = seriesOf((await send(`${gateway.adminUrl}/metrics`)).text);
  return ['read', 'write'].map((access) => series.get(`trailgate_database_up{access="${access}"}`));
}

const expectReported = async (gateway: RunningTrailgate, cause: RegExp): Promise<void> => {
  expect(await databaseCheck(gateway)).toEqual({
    status: 'warn',
    detail: expect.stringMatching(/^takes no writes since \d{4}-.*: requests go on, usage waits in memory/),
  });
  expect((await databaseCheck(gateway)).detail).toMatch(cause);
  expect(await isUp(gateway)).toEqual([1, 0]);
  await eventually('database_unwritable is logged', () =>
    gateway.logs().some(({ event }) => event === 'database_unwritable'),
  );
};

let backend: Backend;
beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
});
afterAll(() => backend.stop());

const call = ({ gatewayUrl }: RunningTrailgate, secret: string) =>
  send(`${gatewayUrl}/api/v1/customers`, { headers: { Authorization: `Bearer ${secret}` } });

describeWithPostgres('a PostgreSQL that becomes read-only', () => {
  let database: FreshDatabase;
  let gateway: RunningTrailgate;
  beforeAll(async () => {
    database = await freshDatabase();
    gateway = await startTrailgate({ backend: backend.url, env: { DATABASE_URL: database.url } });
  });
  afterAll(async () => {
    await gateway.stop();
    await database.drop();
  });

  /** Makes new sessions read-only or writable, and ends all existing ones. */
  async function readOnly(isReadOnly: boolean): Promise<void> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      await client.query('set default_transaction_read_only = off');
      const name = new URL(database.url).pathname.slice(1);
      await client.query(`alter database "${name}" set default_transaction_read_only = ${isReadOnly}`);
      await client.query(
        'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
        [name],
      );
    } finally {
      await client.end();
    }
  }

  it('is detected without a request, and passes again once it accepts writes', async () => {
    await becomes(gateway, 'pass');
    const { key } = await gateway.admin.newKey('pro');
    expect((await call(gateway, key.secret)).status).toBe(200);
    await readOnly(true);
    await becomes(gateway, 'warn');
    await eventually('the check reports that no writes succeed', async () =>
      /no writes/.test((await databaseCheck(gateway)).detail ?? ''),
    );
    await expectReported(gateway, /read-only transaction/);
    expect((await call(gateway, key.secret)).status).toBe(200);
    expectProblem(await gateway.admin.request('POST', '/accounts', { name: 'a', plan: 'pro' }), 'database_unavailable');
    await readOnly(false);
    await becomes(gateway, 'pass');
    expect(await isUp(gateway)).toEqual([1, 1]);
    await eventually('database_back is logged', () => gateway.logs().some(({ event }) => event === 'database_back'));
  });
});

describeUnless(canMountDisk() ? null : 'needs root on Linux, to mount a small disk')(
  'a data folder on a disk that is full',
  () => {
    let disk: SmallDisk;
    let gateway: RunningTrailgate;
    beforeEach(async () => {
      disk = mountSmallDisk(8);
      gateway = await startTrailgate({
        backend: backend.url,
        dataDir: `${disk.folder}/data`,
        config: { usage: { flushInterval: '1s' } },
      });
    });
    afterAll(async () => {
      await gateway.stop();
      disk.unmount();
    });

    it('is detected by regular writes, and passes once they succeed, without lost counts', async () => {
      await becomes(gateway, 'pass');
      const { account, key } = await gateway.admin.newKey('pro');
      expect((await call(gateway, key.secret)).status).toBe(200);
      disk.fill();
      let served = 1;
      await eventually(
        'writes fail',
        async () => {
          // The SQLite write-ahead log still has space for a while.
          expect((await call(gateway, key.secret)).status).toBe(200);
          served += 1;
          await gateway.admin.request('POST', '/accounts', { name: 'a'.repeat(100), plan: 'pro' });
          return (await databaseCheck(gateway)).status === 'warn';
        },
        60_000,
      );
      await expectReported(gateway, /database or disk is full/);
      disk.clear();
      await becomes(gateway, 'pass');
      const month = (await gateway.admin.usage(account.id)).windows.find(({ policy }) => policy === 'account-month');
      expect(month?.used).toBe(served);
    });
  },
);
