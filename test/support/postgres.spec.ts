/** The PostgreSQL for tests gives each caller its own database, and keeps committed data when it is killed. */
import { expect, it } from '@jest/globals';
import pg from 'pg';
import { describeWithOwnPostgres, describeWithPostgres } from './describe-with.js';
import { freshDatabase, newDatabase, startPostgres } from './postgres.js';

async function rows(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

describeWithPostgres('the shared PostgreSQL', () => {
  it('gives each caller a database that no one else sees', async () => {
    const [one, other] = await Promise.all([newDatabase(), newDatabase()]);
    await rows(one.url, 'create table only_here (id integer)');
    expect(await rows(one.url, 'select * from only_here')).toEqual([]);
    await expect(rows(other.url, 'select * from only_here')).rejects.toThrow('does not exist');
    await Promise.all([one.drop(), other.drop()]);
    await expect(rows(one.url, 'select 1')).rejects.toThrow('does not exist');
  });

  it('gives a database to one caller after the other, without rows, and ends the sessions that are open', async () => {
    const database = await freshDatabase();
    const client = new pg.Client({ connectionString: database.url });
    client.on('error', () => {});
    await client.connect();
    await client.query(`insert into installation (name, value) values ('left', 'here')`);
    await database.drop();
    await expect(client.query('select 1')).rejects.toThrow(/terminat|connection error/);
    const next = await freshDatabase();
    expect(next.url).toBe(database.url);
    expect(await rows(next.url, 'select * from installation')).toEqual([]);
    await next.drop();
  });

  it.each([
    'alter table installation rename to away',
    'create table only_here (id integer)',
    `insert into kysely_migration values ('9999_future', '')`,
    'alter table api_key add constraint odd check (id <> name)',
    `do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$`,
  ])('gives no other caller a database where one did: %s', async (statement) => {
    const database = await freshDatabase();
    await rows(database.url, statement);
    await database.drop();
    const next = await freshDatabase();
    expect(next.url).not.toBe(database.url);
    await next.drop();
  });
});

describeWithOwnPostgres('a PostgreSQL of the test', () => {
  it('keeps what was committed over kill -9 and restart, and asks for its password', async () => {
    const server = await startPostgres();
    try {
      const url = await server.createDatabase('kept');
      await rows(url, 'create table note as select 1 as id');
      await server.kill9();
      await expect(rows(url, 'select 1')).rejects.toThrow('ECONNREFUSED');
      await server.restart();
      expect(await rows(url, 'select id from note')).toEqual([{ id: 1 }]);
      await expect(rows(url.replace(':postgres-test-password', ':wrong'), 'select 1')).rejects.toThrow('password');
    } finally {
      await server.stop();
    }
  });
});
