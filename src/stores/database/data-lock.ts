/**
 * Locks the data folder, so that only one program at a time uses it. If counters are kept in the process, a second
 * program would admit the same quota again.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDataFolder } from './data-folder.js';
import { DatabaseOpenError } from './database-errors.js';
import { sqliteOpenError } from './open-errors.js';

const SQLITE_BUSY = 5;

/** ReleaseDataDir releases a lock. The kernel also releases the lock when the process ends, for any reason. */
export type ReleaseDataDir = () => void;

/**
 * Locks the folder. Creates the folder if it is missing.
 * @throws DatabaseOpenError if another process holds the lock, or the folder is not writable.
 */
export function lockDataDir(dataDir: string): ReleaseDataDir {
  const pidFile = join(dataDir, 'trailgate.pid');
  const release = lockFile(dataDir, 'trailgate.lock', () => writeFileSync(pidFile, `${process.pid}\n`));
  if (release === undefined) {
    throw new DatabaseOpenError(
      `The data folder ${dataDir} is in use by ${describeHolder(pidFile)}: stop it, ` +
        'give this one another TRAILGATE_DATA_DIR, or set REDIS_URL on both so that they share their counters.',
    );
  }
  return () => {
    rmSync(pidFile, { force: true });
    release();
  };
}

/**
 * Locks the counters of a data folder, for the counting process. That process may outlive the process that has locked
 * the folder.
 * @returns undefined if another process holds the lock.
 * @throws DatabaseOpenError if the folder is not writable.
 */
export function lockCounters(dataDir: string): ReleaseDataDir | undefined {
  return lockFile(dataDir, 'counters.lock');
}

/**
 * Locks a file. The lock is an exclusive SQLite transaction, so it cannot survive a crash.
 * @param onLocked called when the lock is held
 * @returns undefined if another process holds the lock.
 */
function lockFile(dataDir: string, name: string, onLocked: () => void = () => {}): ReleaseDataDir | undefined {
  const file = join(dataDir, name);
  let database: DatabaseSync | undefined;
  try {
    makeDataFolder(dataDir);
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec('begin exclusive');
    onLocked();
  } catch (error) {
    database?.close();
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) return undefined;
    throw sqliteOpenError(error, file);
  }
  const locked = database;
  return () => {
    if (locked.isOpen) locked.close();
  };
}

function describeHolder(pidFile: string): string {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? `process ${pid}` : 'another process';
  } catch {
    return 'another process';
  }
}
