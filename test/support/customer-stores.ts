/** The two databases of the customers backend, and what a test must know of each to kill a process at the right moment. */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Environment } from './customers.js';
import { newDatabase } from './postgres.js';
import { sleep, temporaryFolder } from './processes.js';

export interface CustomerStore {
  /** What the backend must be started with. */
  readonly env: Environment;
  /** Settles once a process has begun to write its first data, which it has not committed yet. */
  untilPreparing(): Promise<void>;
  /** True where something of that was committed. */
  hasTables(): Promise<boolean>;
  drop(): Promise<void>;
}

export async function sqliteStore(): Promise<CustomerStore> {
  const folder = temporaryFolder('customers');
  const file = join(folder, 'customers.db');
  const walBytes = () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return {
    env: { CUSTOMERS_DATA_DIR: folder },
    async untilPreparing() {
      // SQLite writes ahead of the commit once its cache is full.
      while (walBytes() === 0) await sleep(1);
    },
    async hasTables() {
      const database = new DatabaseSync(file);
      const tables = database.prepare(`select name from sqlite_master where type = 'table'`).all();
      database.close();
      return tables.length > 0;
    },
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

export async function postgresStore(): Promise<CustomerStore> {
  const database = await newDatabase();
  async function ask(question: string): Promise<boolean> {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query<{ answer: boolean }>(`select (${question}) as answer`);
    await client.end();
    return rows[0]?.answer === true;
  }
  return {
    env: { CUSTOMERS_DATABASE_URL: database.url },
    async untilPreparing() {
      const holdsLock = `exists (select from pg_locks join pg_database on pg_database.oid = pg_locks.database
        where locktype = 'advisory' and datname = current_database())`;
      while (!(await ask(holdsLock))) await sleep(1);
    },
    hasTables: () => ask(`to_regclass('customer') is not null`),
    drop: () => database.drop(),
  };
}
