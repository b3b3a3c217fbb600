/**
 * Creates, checks and removes the folder of the counting process's socket. Other users must not have access to the
 * folder, because they could send calls or create another socket in it.
 */
import { lstatSync, mkdirSync, mkdtempSync, rmdirSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const OWNER_ONLY = 0o700;
const GROUP_AND_OTHERS = 0o077;

/**
 * Creates a folder in the system's temporary folder.
 * @returns the path for the socket in the new folder.
 * @throws if the system's temporary folder is not writable.
 */
export function makeSocketFolder(): string {
  // The path is absolute, because it must differ from a URL, and workers may have another working directory.
  return join(mkdtempSync(join(resolve(tmpdir()), 'trailgate-')), 'counters');
}

/**
 * Creates the socket's folder again if it was removed.
 * @throws if the folder cannot be created, or if another user may have access to the folder. That user could create
 * another socket in the folder.
 */
export function keepSocketFolder(path: string): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { mode: OWNER_ONLY });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const { mode, uid } = lstatSync(folder);
  const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & GROUP_AND_OTHERS) === 0);
  if (!isOurs) throw new Error(`${folder} is another user's, or open to others`);
}

/** Removes the socket, and its folder if the folder is then empty. Never throws. */
export function removeSocketFolder(path: string): void {
  for (const remove of [() => unlinkSync(path), () => rmdirSync(dirname(path))]) {
    try {
      remove();
    } catch {
      // The file or folder was removed already, or the folder contains other files.
    }
  }
}
