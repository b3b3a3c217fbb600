/** A slow, frozen or restarted PostgreSQL delays a caller for a limited time, and broken connections are not reused. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { DatabaseUnavailable } from '../../src/stores/database/database-errors.js';
import { answersNow } from '../support/database.js';
import { describeWithOwnPostgres } from '../support/describe-with.js';
import { quietMsSince } from '../support/machine-time.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { sleep } from '../support/processes.js';

/** Statement deadline. The default is two seconds. */
const DEADLINE_MS = 700;

describeWithOwnPostgres('a PostgreSQL in trouble', () => {
  let server: PostgresServer;
  let url: string;
  let database: DatabaseHandle;

  beforeAll(async () => {
    server = await startPostgres();
    url = await server.createDatabase('trouble');
    database = await openDatabase({ databaseUrl: url, dataDir: '', callDeadlineMs: DEADLINE_MS });
  });
  afterAll(async () => {
    await database.close();
    await server.stop();
  });

  const backendPid = async () =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(database.db)).rows[0]?.pid ?? 0;

  it('has a statement cancelled at its deadline, and answers the next one', async () => {
    const start = performance.now();
    await expect(sql`select pg_sleep(20)`.execute(database.db)).rejects.toThrow(DatabaseUnavailable);
    expect(quietMsSince(start)).toBeLessThan(3_500);
    expect(await answersNow(database)).toBe(true);
  });

  it('has its frozen connection given up and not reused', async () => {
    const frozen = await backendPid();
    process.kill(frozen, 'SIGSTOP');
    try {
      const start = performance.now();
      await expect(sql`select 1`.execute(database.db)).rejects.toThrow(DatabaseUnavailable);
      expect(quietMsSince(start)).toBeLessThan(4_000);
      expect(await backendPid()).not.toBe(frozen);
    } finally {
      process.kill(frozen, 'SIGCONT');
    }
  });

  it('reports why a transaction was refused, not the failure of its rollback', async () => {
    const attempt = database.db.transaction().execute(async (trx) => {
      await sql`set transaction read only`.execute(trx);
      await trx.insertInto('installation').values({ name: 'a', value: 'b' }).execute();
    });
    await expect(attempt).rejects.toThrow(/cannot execute INSERT in a read-only transaction/);
  });

  it('that ends a session inside a transaction fails only the next statement', async () => {
    const attempt = database.db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
      await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(database.db);
      // Gives the client time to receive the termination notice while no statement runs.
      await sleep(200);
      await sql`select 1`.execute(trx);
    });
    await expect(attempt).rejects.toThrow(DatabaseUnavailable);
    expect(await answersNow(database)).toBe(true);
  });

  it('keeps nothing of a transaction whose connection froze', async () => {
    await sql`create table note (text text)`.execute(database.db);
    let frozen = 0;
    const attempt = database.db.transaction().execute(async (trx) => {
      await sql`insert into note values ('half')`.execute(trx);
      frozen = (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx)).rows[0]?.pid ?? 0;
      process.kill(frozen, 'SIGSTOP');
      await sql`insert into note values ('way')`.execute(trx);
    });
    const start = performance.now();
    await expect(attempt).rejects.toThrow(DatabaseUnavailable);
    expect(quietMsSince(start)).toBeLessThan(4_000);
    process.kill(frozen, 'SIGCONT');
    expect((await sql`select * from note`.execute(database.db)).rows).toEqual([]);
  });

  it('is reported with a remedy for a wrong password, an unknown database and a dead server', async () => {
    const open = (change: (url: URL) => void) => {
      const changed = new URL(url);
      change(changed);
      return openDatabase({ databaseUrl: changed.href, dataDir: '' });
    };
    await expect(open((each) => (each.password = 'wrong-s3cret'))).rejects.toThrow(
      /refuses user "trailgate" or its password: correct DATABASE_URL/,
    );
    await expect(open((each) => (each.pathname = '/nowhere'))).rejects.toThrow(/create it \(createdb nowhere\)/);
    await expect(open((each) => (each.port = '1'))).rejects.toThrow(/127\.0\.0\.1:1 refuses connections: start it/);
  });

  it('is used again after its restart', async () => {
    await server.restart();
    const answers = await Promise.all(Array.from({ length: 5 }, () => answersNow(database)));
    expect(answers.length).toBe(5);
    expect(await answersNow(database)).toBe(true);
  });
});
