/** The folder of the counting process's socket: its own, and nobody else can look into it. */
import { lstatSync, mkdirSync, mkdtempSync, rmdirSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const ONLY_OURS = 0o700;
const OTHERS = 0o077;

/** Makes one. @returns the path for the socket in it. @throws where the folder for temporary files takes none. */
export function makeSocketFolder(): string {
  // Absolute: by that a path is told from a URL, and workers may stand elsewhere.
  return join(mkdtempSync(join(resolve(tmpdir()), 'trailgate-')), 'counters');
}

/**
 * Makes it again where somebody has cleaned it away.
 * @throws where it cannot be made, or where another user may have made it: who owns it could put a socket of theirs
 * there.
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

/** Removes the socket, and its folder where nothing else is in it. Never throws. */
export function removeSocketFolder(path: string): void {
  for (const remove of [() => unlinkSync(path), () => rmdirSync(dirname(path))]) {
    try {
      remove();
    } catch {
      // It has gone already, or somebody keeps files there: those are theirs.
    }
  }
}
