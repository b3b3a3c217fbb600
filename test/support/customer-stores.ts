/**
 * Creates the database of the customers backend, and observes it so that a test can kill the process at the right
 * moment.
 */
import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Environment } from './customers.js';
import { sleep, temporaryFolder } from './processes.js';

export interface CustomerStore {
  /** Environment for starting the backend. */
  readonly env: Environment;
  /** Resolves when a process has written its first data without committing them. */
  waitForUncommittedWrite(): Promise<void>;
  /** Reports whether any table was committed. */
  hasTables(): Promise<boolean>;
  drop(): Promise<void>;
}

export async function sqliteStore(): Promise<CustomerStore> {
  const folder = temporaryFolder('customers');
  const file = join(folder, 'customers.db');
  const walBytes = () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  return {
    env: { CUSTOMERS_DATA_DIR: folder },
    async waitForUncommittedWrite() {
      // SQLite writes to the WAL before the commit when its cache is full.
      while (walBytes() === 0) await sleep(1);
    },
    async hasTables() {
      const database = new DatabaseSync(file, { timeout: 30_000 });
      const tables = database.prepare(`select name from sqlite_master where type = 'table'`).all();
      database.close();
      return tables.length > 0;
    },
    drop: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
