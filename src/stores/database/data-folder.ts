/** Creates the data folder, and restricts its files to the current user. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/**
 * Matches the names of Trailgate's files: databases with their logs and copies, and lock files. The operator may have
 * other files in the folder.
 */
const OUR_FILES = /^(?:trailgate|customers|counters)\./;
const GROUP_AND_OTHERS = 0o077;
const OWNER_ONLY = 0o600;

/**
 * Creates the folder and its missing parents. Throws the error of the file system. Does not use Node's `recursive`
 * option. With that option, the call never returns if a parent exists but reports "no such file", as in /proc.
 */
export function makeDataFolder(dataDir: string): void {
  const missing: string[] = [];
  for (let folder = resolve(dataDir); statSync(folder, { throwIfNoEntry: false }) === undefined;) {
    missing.unshift(folder);
    folder = dirname(folder);
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Another process may have created the folder in the meantime.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  if (!statSync(dataDir).isDirectory()) {
    throw Object.assign(new Error(`${dataDir} is not a directory`), { code: 'ENOTDIR' });
  }
}

/**
 * Removes the permissions of group and others from Trailgate's files in the folder. New files never have these
 * permissions, because of the umask that `main.ts` sets. Files of older versions may have them.
 * @returns the names of the changed files. Files of other users stay unchanged.
 */
export function tightenDataFiles(dataDir: string): string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && OUR_FILES.test(entry.name) && tighten(join(dataDir, entry.name)))
    .map(({ name }) => name)
    .sort();
}

/** Removes the permissions of group and others from a file. Reports whether the file was changed. Ignores errors. */
function tighten(file: string): boolean {
  try {
    if ((statSync(file).mode & GROUP_AND_OTHERS) === 0) return false;
    chmodSync(file, OWNER_ONLY);
    return true;
  } catch {
    return false;
  }
}
