/**
 * Copies the SQLite database for a backup or before a migration. The previous version can start from the copy before a
 * migration.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DatabaseOpenError } from './database-errors.js';
import { SqliteClient } from './sqlite-client.js';

/** Maximum time for a copy. It suffices for some gigabytes on a slow disk. */
const COPY_DEADLINE_MS = 600_000;
const BUSY_TIMEOUT_MS = 30_000;
const KEPT_COPIES = 2;
const MIB = 1_048_576;

/**
 * Writes a consistent copy, named after the first pending migration. Keeps one older copy, and removes the others. The
 * caller must hold the write lock.
 * @returns the path of the copy. Rejects with `DatabaseOpenError` if the copy cannot be written.
 */
export async function copyBeforeMigration(file: string, firstPending: string): Promise<string> {
  const copy = `${file}.before-${firstPending}`;
  try {
    await copyDatabase(file, copy);
  } catch (error) {
    throw cannotCopy(file, error);
  }
  removeOldCopies(file, copy);
  return copy;
}

/**
 * Writes a backup of a database that may be in use. The backup is a consistent snapshot.
 * @param target path of the backup. An existing file is not overwritten.
 * @returns the size of the backup in bytes. Rejects with `DatabaseOpenError` if the backup cannot be written, and then
 * leaves no file.
 */
export async function backupDatabase(file: string, target: string): Promise<number> {
  if (!existsSync(file)) throw new DatabaseOpenError(`${file} does not exist: there is nothing to back up.`);
  if (existsSync(target)) throw new DatabaseOpenError(`${target} exists. Name a new file, or move that one away.`);
  try {
    await copyDatabase(file, target);
    return statSync(target).size;
  } catch (error) {
    throw new DatabaseOpenError(`${target} cannot be written (${reasonOf(error)}).`, error);
  }
}

/** Writes the copy under a temporary name first, so a file with the name of the copy is always complete. */
async function copyDatabase(file: string, copy: string): Promise<void> {
  const partial = `${copy}.partial`;
  try {
    rmSync(partial, { force: true });
    await vacuumInto(file, partial);
    await flush(partial);
    renameSync(partial, copy);
    await flush(dirname(copy));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

async function vacuumInto(file: string, target: string): Promise<void> {
  const client = new SqliteClient({ file, busyTimeoutMs: BUSY_TIMEOUT_MS, deadlineMs: COPY_DEADLINE_MS });
  try {
    await client.open();
    await client.run([{ sql: 'vacuum into ?', parameters: [target] }]);
  } finally {
    await client.close();
  }
}

/** Syncs a file or folder to disk. SQLite does not sync the file that `vacuum into` writes. */
async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function cannotCopy(file: string, error: unknown): DatabaseOpenError {
  const mebibytes = Math.ceil(statSync(file).size / MIB);
  return new DatabaseOpenError(
    `${file} is not migrated: the copy that is made first cannot be written (${reasonOf(error)}). ` +
      `Free ${mebibytes} MiB on its disk and start again; the database is unchanged.`,
    error,
  );
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^SQLite: /, '') : String(error);
}

function removeOldCopies(file: string, latest: string): void {
  const folder = dirname(file);
  const prefix = `${basename(file)}.before-`;
  const older = readdirSync(folder)
    .filter((name) => name.startsWith(prefix) && join(folder, name) !== latest)
    .map((name) => join(folder, name))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs);
  for (const path of older.slice(KEPT_COPIES - 1)) rmSync(path, { force: true });
}
