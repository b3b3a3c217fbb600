/** A new database of either kind for a test, opened and migrated as the program does it. */
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from '@jest/globals';
import {
  openDatabase,
  SQLITE_FILE,
  type DatabaseHandle,
  type OpenDatabaseOptions,
} from '../../src/database/connect.js';
import { freshDatabase } from './postgres.js';
import { temporaryFolder } from './processes.js';

export interface TestDatabase {
  readonly options: OpenDatabaseOptions;
  /** Removes it. Close every handle first. */
  drop(): Promise<void>;
}

/** An empty place for a database: a temporary folder, or a new database of the shared PostgreSQL. */
export async function emptyDatabase(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  if (kind === 'sqlite') {
    const dataDir = temporaryFolder('sqlite');
    return { options: { dataDir }, drop: () => rm(dataDir, { recursive: true, force: true }) };
  }
  const { url, drop } = await freshDatabase();
  return { options: { databaseUrl: url, dataDir: '' }, drop };
}

/** What the databases of a test file are copies of, by kind: migrations take several times as long as a copy. */
const templates = new Map<DatabaseHandle['kind'], Promise<TestDatabase>>();

afterAll(async () => {
  for (const template of templates.values()) await (await template).drop();
});

async function makeTemplate(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  const template = await emptyDatabase(kind);
  await (await openDatabase(template.options)).close();
  return template;
}

/** A place where a database is that was migrated, and that nobody has opened since. */
async function migratedDatabase(kind: DatabaseHandle['kind']): Promise<TestDatabase> {
  const known = templates.get(kind) ?? makeTemplate(kind);
  templates.set(kind, known);
  const { options } = await known;
  if (options.databaseUrl !== undefined) {
    const { url, drop } = await freshDatabase(options.databaseUrl);
    return { options: { databaseUrl: url, dataDir: '' }, drop };
  }
  const empty = await emptyDatabase(kind);
  await copyFile(join(options.dataDir, SQLITE_FILE), join(empty.options.dataDir, SQLITE_FILE));
  return empty;
}

/** A busy disk is no database that is away. */
const PATIENT_MS = 60_000;

/** A migrated database, patient with a busy machine; `close` closes and removes it. */
export async function testDatabase(kind: DatabaseHandle['kind']): Promise<DatabaseHandle> {
  const { options, drop } = await migratedDatabase(kind);
  const handle = await openDatabase({ ...options, callDeadlineMs: PATIENT_MS });
  return {
    ...handle,
    close: async () => {
      await handle.close();
      await drop();
    },
  };
}

/** Whether it answers now. */
export function answersNow(database: DatabaseHandle): Promise<boolean> {
  return database.ping().then(
    () => true,
    () => false,
  );
}
