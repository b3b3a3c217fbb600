import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import { DatabaseUnavailable } from '../../src/stores/database/database-errors.js';
import type { Tables } from '../../src/stores/database/schema.js';
import { SqliteClient } from '../../src/stores/database/sqlite-client.js';
import { sqliteDialect } from '../../src/stores/database/sqlite-dialect.js';
import { executeBatchInTransaction } from '../../src/stores/database/statement-batch.js';
import { quietMsSince } from '../support/machine-time.js';

interface Counters {
  counter: { id: number; value: number };
}

/** Returns a query that keeps the worker busy for this many million steps. */
const slow = (million: number) =>
  sql`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${million * 1e6}) select count(*) from n`;

describe('SQLite in its worker', () => {
  let folder: string;
  let file: string;
  let db: Kysely<Counters>;
  const open = (deadlineMs: number, busyTimeoutMs = 1_500) =>
    new Kysely<Counters>({ dialect: sqliteDialect({ file, busyTimeoutMs, deadlineMs }) });

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'trailgate-sqlite-'));
    file = join(folder, 'test.db');
    db = open(2_000);
    await sql`create table counter (id integer primary key, value integer not null)`.execute(db);
  });
  afterEach(async () => {
    await db.destroy();
    rmSync(folder, { recursive: true, force: true });
  });

  it('uses WAL, syncs every commit to disk and checks foreign keys', async () => {
    const pragma = async (name: string) => (await sql.raw(`pragma ${name}`).execute(db)).rows;
    expect(await pragma('journal_mode')).toEqual([{ journal_mode: 'wal' }]);
    expect(await pragma('synchronous')).toEqual([{ synchronous: 2 }]);
    expect(await pragma('foreign_keys')).toEqual([{ foreign_keys: 1 }]);
    expect(await pragma('busy_timeout')).toEqual([{ timeout: 1_500 }]);
  });

  it('does not block the event loop while a statement runs', async () => {
    // Uses a long deadline, because a busy machine is slow.
    await db.destroy();
    db = open(20_000);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 5);
    await slow(2).execute(db);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
  });

  it('rejects at the deadline, and works again once the statement has ended', async () => {
    await db.destroy();
    db = open(80);
    const recovered = async (): Promise<unknown> => db.selectFrom('counter').selectAll().execute().catch(recovered);
    // On a busy machine, the thread may start after the deadline.
    await recovered();
    const start = performance.now();
    await expect(slow(4).execute(db)).rejects.toThrow(DatabaseUnavailable);
    await expect(db.selectFrom('counter').selectAll().execute()).rejects.toThrow(DatabaseUnavailable);
    expect(quietMsSince(start)).toBeLessThan(1_000);
    expect(await recovered()).toEqual([]);
  });

  it('rolls back a transaction whose statement missed the deadline', async () => {
    await db.destroy();
    db = open(80);
    const attempt = db.transaction().execute(async (trx) => {
      await trx.insertInto('counter').values({ id: 1, value: 1 }).execute();
      await slow(4).execute(trx);
    });
    await expect(attempt).rejects.toThrow(DatabaseUnavailable);
    const recovered = async (): Promise<unknown> => db.selectFrom('counter').selectAll().execute().catch(recovered);
    expect(await recovered()).toEqual([]);
  });

  it('fails while another process holds a lock, and writes once it is released', async () => {
    await db.destroy();
    db = open(2_000, 100);
    const other = new DatabaseSync(file);
    other.exec('begin immediate');
    const insert = () => db.insertInto('counter').values({ id: 1, value: 1 }).execute();
    await expect(insert()).rejects.toThrow(/locked/);
    await expect(insert()).rejects.toThrow(DatabaseUnavailable);
    other.exec('commit');
    other.close();
    await insert();
    expect(await db.selectFrom('counter').select('id').execute()).toEqual([{ id: 1 }]);
  });

  it('fails while another process holds a lock, even for a whole transaction in one message', async () => {
    await db.destroy();
    db = open(2_000, 100);
    const other = new DatabaseSync(file);
    other.exec('begin immediate');
    const insert = db.insertInto('counter').values({ id: 1, value: 1 }).compile();
    const all = () => executeBatchInTransaction(db as unknown as Kysely<Tables>, [insert]);
    await expect(all()).rejects.toThrow(DatabaseUnavailable);
    other.exec('commit');
    other.close();
    await all();
    expect(await db.selectFrom('counter').select('id').execute()).toEqual([{ id: 1 }]);
  });

  it('keeps the SQLite codes on the error of a statement', async () => {
    await db.insertInto('counter').values({ id: 1, value: 1 }).execute();
    const again = db.insertInto('counter').values({ id: 1, value: 1 }).execute();
    await expect(again).rejects.toMatchObject({ name: 'SqliteError', code: 'ERR_SQLITE_ERROR', errcode: 1555 });
  });

  it('never runs a statement of another caller inside an open transaction', async () => {
    const seen: unknown[] = [];
    const transaction = db.transaction().execute(async (trx) => {
      await trx.insertInto('counter').values({ id: 1, value: 1 }).execute();
      await new Promise((resolve) => setTimeout(resolve, 50));
      await sql`delete from counter`.execute(trx);
    });
    const reader = db.selectFrom('counter').selectAll().execute();
    seen.push(...(await reader));
    await transaction;
    expect(seen).toEqual([]);
  });
});

describe('the SQLite worker', () => {
  it('rejects pending calls when it dies, and a new worker takes over', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trailgate-sqlite-'));
    const client = new SqliteClient({ file: join(folder, 'test.db'), busyTimeoutMs: 100, deadlineMs: 60_000 });
    await client.open();
    const run = (text: string) => client.run([{ sql: text, parameters: [] }]);
    const pending = run(
      'with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000000) select count(*) from n',
    );
    const queued = run('select 1');
    const { worker } = client as unknown as { worker: { terminate(): Promise<number> } };
    void worker.terminate();
    await expect(pending).rejects.toThrow(DatabaseUnavailable);
    await expect(queued).rejects.toThrow(DatabaseUnavailable);
    await client.open();
    expect(await run('select 7 as n')).toEqual([{ rows: [{ n: 7 }] }]);
    expect(client.generation).toBe(2);
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  });
});
