/** Gateways behind PgBouncer in transaction mode. They need no session state of the server, and leave none behind. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { DatabaseUnavailable } from '../../src/stores/database/database-errors.js';
import { describeWithPgBouncer } from '../support/describe-with.js';
import { quietMsSince } from '../support/machine-time.js';
import { startPgBouncer, type PgBouncer } from '../support/pgbouncer.js';
import { newDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { writeConfig } from '../support/program-config.js';

const GATEWAYS = 3;
const POOL_SIZE = 2;
const START_MS = 10_000;
/** Number of restarts. TRAILGATE_TEST_RUNS sets it. */
const ROUNDS = Number(process.env['TRAILGATE_TEST_RUNS'] ?? 1);

describeWithPgBouncer('behind PgBouncer in transaction mode', () => {
  let server: FreshDatabase;
  let pooler: PgBouncer;
  let direct: pg.Client;

  beforeAll(async () => {
    server = await newDatabase();
    pooler = await startPgBouncer(server.url, POOL_SIZE);
    direct = new pg.Client({ connectionString: server.url });
    await direct.connect();
  });
  afterAll(async () => {
    await direct.end();
    await pooler.stop();
    await server.drop();
  });

  const advisoryLocks = async () => {
    const text = `
      select classid, objid, granted from pg_locks
      where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
    `;
    return (await direct.query(text)).rows;
  };

  it(`${GATEWAYS} gateways on ${POOL_SIZE} sessions start in 10 s, also after a kill, and leave no lock`, async () => {
    const startAll = async (): Promise<RunningTrailgate[]> => {
      const startedMs = performance.now();
      const env = { DATABASE_URL: pooler.url };
      const all = await Promise.all(Array.from({ length: GATEWAYS }, () => startTrailgate({ env })));
      expect(quietMsSince(startedMs)).toBeLessThan(START_MS);
      return all;
    };
    const migrated = (all: RunningTrailgate[]) =>
      all.flatMap(({ logs }) => logs().filter(({ event }) => event === 'migrated'));
    let running = await startAll();
    // One gateway created the tables, and the two others waited.
    expect(migrated(running)).toHaveLength(1);
    expect((await running[0]!.admin.createAccount()).id).toMatch(/^acc_/);
    for (let round = 0; round < ROUNDS; round++) {
      await Promise.all(running.map((each) => each.stop()));
      running = await startAll();
      await Promise.all(running.map((each) => each.kill9()));
      running = await startAll();
      expect(migrated(running)).toEqual([]);
    }
    await Promise.all(running.map((each) => each.stop()));
    expect(await advisoryLocks()).toEqual([]);
  });

  it('a gateway detects that notifications do not arrive, and reports it in log and metrics', async () => {
    const trailgate = await startTrailgate({ env: { DATABASE_URL: pooler.url } });
    await eventually('webhook_listener_lost is logged', () =>
      trailgate.logs().some(({ event }) => event === 'webhook_listener_lost'),
    );
    expect(JSON.stringify(trailgate.logs().find(({ event }) => event === 'webhook_listener_lost'))).toContain(
      'as behind a pooler in transaction mode',
    );
    const metrics = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    expect(metrics).toMatch(/^trailgate_webhook_listener_up 0$/m);
    await trailgate.stop();
  });

  it('a start that PgBouncer refuses fails with the error message of PgBouncer', async () => {
    const url = new URL(pooler.url);
    url.pathname = '/nowhere';
    const folder = temporaryFolder('start');
    const path = writeConfig(folder, { targets: ['http://127.0.0.1:9'] });
    const env = { DATABASE_URL: url.href, TRAILGATE_DATA_DIR: `${folder}/data` };
    const { code, stderr } = await runTrailgate(['start', '--config', path], { env, cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toMatch(/cannot be used: bouncer config error \(SQLSTATE 08P01\)\.$/m);
  });

  it('a statement and a transaction end at their deadline, and sessions do not keep their timeouts', async () => {
    const database: DatabaseHandle = await openDatabase({ databaseUrl: pooler.url, dataDir: '' });
    const startedMs = performance.now();
    const sleep = sql`select pg_sleep(8)`;
    const [single, inTransaction] = await Promise.allSettled([
      sleep.execute(database.db),
      database.db.transaction().execute((trx) => sleep.execute(trx)),
    ]);
    expect(single).toMatchObject({ status: 'rejected', reason: expect.any(DatabaseUnavailable) });
    expect(String((inTransaction as PromiseRejectedResult).reason)).toMatch(
      'canceling statement due to statement timeout',
    );
    expect(quietMsSince(startedMs)).toBeLessThan(4_000);
    const timeouts = () =>
      sql<{ name: string; setting: string }>`
        select name, setting from pg_settings where name in ('statement_timeout', 'idle_in_transaction_session_timeout')
      `;
    const inside = await database.db.transaction().execute((trx) => timeouts().execute(trx));
    expect(inside.rows.map(({ setting }) => setting).toSorted()).toEqual(['10000', '2000']);
    const outside = await Promise.all(Array.from({ length: 4 }, () => timeouts().execute(database.db)));
    expect(new Set(outside.flatMap(({ rows }) => rows.map(({ setting }) => setting)))).toEqual(new Set(['0']));
    await database.close();
  });
});
