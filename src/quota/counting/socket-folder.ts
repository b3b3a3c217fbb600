/** The folder of the counting process's socket. Other users have no access to it. */
import { lstatSync, mkdirSync, mkdtempSync, rmdirSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const ONLY_OURS = 0o700;
const OTHERS = 0o077;

/**
 * Creates a folder.
 * @returns the path for the socket in it.
 * @throws if the system's temporary folder is not writable.
 */
export function makeSocketFolder(): string {
  // Absolute, because the path must differ from a URL and workers may have another working directory.
  return join(mkdtempSync(join(resolve(tmpdir()), 'trailgate-')), 'counters');
}

/**
 * Creates the folder again if it was removed.
 * @throws if that fails, or if another user may own the folder. Its owner could put another socket there.
 */
export function keepSocketFolder(path: string): void {
  const folder = dirname(path);
  try {
    mkdirSync(folder, { mode: ONLY_OURS });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const { mode, uid } = lstatSync(folder);
  const isOurs = process.getuid === undefined || (uid === process.getuid() && (mode & OTHERS) === 0);
  if (!isOurs) throw new Error(`${folder} is another user's, or open to others`);
}

/** Removes the socket, and its folder if that is empty. Never throws. */
export function removeSocketFolder(path: string): void {
  for (const remove of [() => unlinkSync(path), () => rmdirSync(dirname(path))]) {
    try {
      remove();
    } catch {
      // It is gone already, or the folder has files of someone else.
    }
  }
}
