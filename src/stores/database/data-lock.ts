/**
 * One process per data folder, where the counters live inside the process: a second
 * one would admit the same quota twice.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeDataFolder } from './data-folder.js';
import { DatabaseOpenError } from './database-errors.js';
import { sqliteOpenError } from './open-errors.js';

const SQLITE_BUSY = 5;

/** Gives the folder back. The kernel does so too when the process dies, however it dies. */
export type ReleaseDataDir = () => void;

/**
 * Takes the folder, which is made if it is missing. Throws `DatabaseOpenError` where another process has it or the
 * folder cannot be written.
 */
export function lockDataDir(dataDir: string): ReleaseDataDir {
  const pidFile = join(dataDir, 'trailgate.pid');
  const release = lockFile(dataDir, 'trailgate.lock', () => writeFileSync(pidFile, `${process.pid}\n`));
  if (release === undefined) {
    throw new DatabaseOpenError(
      `The data folder ${dataDir} is in use by ${holder(pidFile)}: stop it, ` +
        'give this one another TRAILGATE_DATA_DIR, or set REDIS_URL on both so that they share their counters.',
    );
  }
  return () => {
    rmSync(pidFile, { force: true });
    release();
  };
}

/**
 * Takes the counters of a folder, for a process that counts beside the one that has the folder, and may outlive it.
 * @returns undefined where another process has them. @throws DatabaseOpenError where the folder cannot be written.
 */
export function lockCounters(dataDir: string): ReleaseDataDir | undefined {
  return lockFile(dataDir, 'counters.lock');
}

/**
 * The lock is an open exclusive transaction on a file of its own: a file lock that no crash leaves behind.
 * @param taken called once it is held.
 */
function lockFile(dataDir: string, name: string, taken: () => void = () => {}): ReleaseDataDir | undefined {
  const file = join(dataDir, name);
  let database: DatabaseSync | undefined;
  try {
    makeDataFolder(dataDir);
    database = new DatabaseSync(file, { timeout: 0 });
    database.exec('begin exclusive');
    taken();
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

function holder(pidFile: string): string {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'));
    return Number.isInteger(pid) && pid > 0 ? `process ${pid}` : 'another process';
  } catch {
    return 'another process';
  }
}
