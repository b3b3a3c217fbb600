/** A new database of either kind for a test, opened and migrated as the program does it. */
import { rm } from 'node:fs/promises';
import { openDatabase, type DatabaseHandle, type OpenDatabaseOptions } from '../../src/database/connect.js';
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

/** A busy disk is no database that is away. */
const PATIENT_MS = 60_000;

/** A migrated database, patient with a busy machine; `close` closes and removes it. */
export async function testDatabase(kind: DatabaseHandle['kind']): Promise<DatabaseHandle> {
  const { options, drop } = await emptyDatabase(kind);
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
