/** The folder of the counting process's socket: its own, and nobody else can look into it. */
import { mkdtempSync, rmdirSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Makes one. @returns the path for the socket in it. @throws where the folder for temporary files takes none. */
export function makeSocketFolder(): string {
  return join(mkdtempSync(join(tmpdir(), 'trailgate-')), 'counters');
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
