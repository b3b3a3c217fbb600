/** A PostgreSQL that is slow, frozen or restarted costs a caller a bounded time, and nobody a broken connection. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { openDatabase, type DatabaseHandle } from '../../src/stores/database/connect.js';
import { DatabaseUnavailable } from '../../src/stores/database/database-errors.js';
import { answersNow } from '../support/database.js';
import { describeWithOwnPostgres } from '../support/describe-with.js';
import { quietMsSince } from '../support/machine-time.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { sleep } from '../support/processes.js';

/** Deadline of a statement; the default is two seconds. */
const DEADLINE_MS = 700;

describeWithOwnPostgres('PostgreSQL in trouble', () => {
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

  it('cancels a statement at its deadline and goes on', async () => {
    const start = performance.now();
    await expect(sql`select pg_sleep(20)`.execute(database.db)).rejects.toThrow(DatabaseUnavailable);
    expect(quietMsSince(start)).toBeLessThan(3_500);
    expect(await answersNow(database)).toBe(true);
  });

  it('gives up on a frozen connection, and never hands it to the next caller', async () => {
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

  it('says of a transaction that was refused why it was, not that its rollback came too late', async () => {
    const attempt = database.db.transaction().execute(async (trx) => {
      await sql`set transaction read only`.execute(trx);
      await trx.insertInto('installation').values({ name: 'a', value: 'b' }).execute();
    });
    await expect(attempt).rejects.toThrow(/cannot execute INSERT in a read-only transaction/);
  });

  it('is an error of the next statement, and of nothing else, where it ends a session between two of a transaction', async () => {
    const attempt = database.db.transaction().execute(async (trx) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(trx);
      await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(database.db);
      // By now it has been told, while nobody asks it anything.
      await sleep(200);
      await sql`select 1`.execute(trx);
    });
    await expect(attempt).rejects.toThrow(DatabaseUnavailable);
    expect(await answersNow(database)).toBe(true);
  });

  it('leaves nothing of a transaction whose connection froze', async () => {
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

  it('names a wrong password, an unknown database and a dead server, each with what to do', async () => {
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

  it('comes back by itself after a restart of the server', async () => {
    await server.restart();
    const answers = await Promise.all(Array.from({ length: 5 }, () => answersNow(database)));
    expect(answers.length).toBe(5);
    expect(await answersNow(database)).toBe(true);
  });
});
