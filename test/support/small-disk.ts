/** A disk of a few megabytes, to be filled: a file system in memory, which only root can mount. */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes.js';

export interface SmallDisk {
  readonly folder: string;
  /** Writes until not one byte more is taken, or until there is room for so many bytes. */
  fill(roomBytes?: number): void;
  /** Takes away what `fill` has written. */
  clear(): void;
  unmount(): void;
}

/** Whether this machine lets the tests mount one. */
export function canMountDisk(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = temporaryFolder('mount');
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status === 0;
  if (isMounted) execFileSync('umount', [folder]);
  return isMounted;
}

export function mountSmallDisk(megabytes: number): SmallDisk {
  const folder = temporaryFolder('disk');
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  const filler = join(folder, 'filler');
  return {
    folder,
    fill: (roomBytes = 0) => {
      const fd = openSync(filler, 'a');
      for (let size = 1 << 20; size >= 1; size = size > 4_096 ? 4_096 : size >> 1) {
        const bytes = Buffer.alloc(size);
        try {
          for (;;) writeSync(fd, bytes);
        } catch {
          // Full for pieces of this size.
        }
      }
      closeSync(fd);
      if (roomBytes > 0) truncateSync(filler, statSync(filler).size - roomBytes);
    },
    clear: () => rmSync(filler, { force: true }),
    // What still has a file open there keeps it until it ends.
    unmount: () => void spawnSync('umount', ['-l', folder]),
  };
}
