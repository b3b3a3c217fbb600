/** Makes the data folder, and keeps its files, for this user only. */
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Databases with their logs and copies, and locks; an operator may keep other files beside them. */
const OUR_FILES = /^(?:trailgate|customers|counters)\./;
const OTHERS = 0o077;
const OWNER_ONLY = 0o600;

/**
 * Makes the folder and what is missing above it. Throws the file system's error. Step by step, because Node's own
 * `recursive` never returns where a parent exists and yet answers "no such file" (as /proc does).
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
      // Another process that starts at the same moment may have been faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  if (!statSync(dataDir).isDirectory()) {
    throw Object.assign(new Error(`${dataDir} is not a directory`), { code: 'ENOTDIR' });
  }
}

/**
 * Takes the rights of group and others from our files in the folder, which may be as old as a volume. New files never
 * have them, by the umask that `main.ts` sets.
 * @returns names of the files that were changed; files of another user stay as they are.
 */
export function tightenDataFiles(dataDir: string): string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir, { withFileTypes: true })
    .filter((entry) => entry.isFile() && OUR_FILES.test(entry.name) && tighten(join(dataDir, entry.name)))
    .map(({ name }) => name)
    .sort();
}

function tighten(file: string): boolean {
  try {
    if ((statSync(file).mode & OTHERS) === 0) return false;
    chmodSync(file, OWNER_ONLY);
    return true;
  } catch {
    return false;
  }
}
