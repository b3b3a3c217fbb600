/** Makes the data folder, for this user only. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

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
