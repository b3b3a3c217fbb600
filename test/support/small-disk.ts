/** A disk of a few megabytes, for tests that fill it. It is a tmpfs, which only root can mount. */
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './processes.js';

export interface SmallDisk {
  readonly folder: string;
  /** Fills the disk to the last byte, then frees `roomBytes` bytes again. */
  fill(roomBytes?: number): void;
  /** Removes the file that `fill` has written. */
  clear(): void;
  unmount(): void;
}

/** Reports whether the tests can mount a tmpfs on this machine. */
export function canMountDisk(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const folder = temporaryFolder('mount');
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status === 0;
  if (isMounted) execFileSync('umount', [folder]);
  return isMounted;
}

/** Mounts a disk in a temporary folder. The caller must unmount it. */
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
          // No more room for pieces of this size.
        }
      }
      closeSync(fd);
      if (roomBytes > 0) truncateSync(filler, statSync(filler).size - roomBytes);
    },
    clear: () => rmSync(filler, { force: true }),
    // A lazy unmount: processes with open files on the disk can keep them until they end.
    unmount: () => void spawnSync('umount', ['-l', folder]),
  };
}
