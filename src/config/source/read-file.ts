/** Reads files that the configuration names, with a size limit and without blocking on special files. */
import { constants, open, type FileHandle } from 'node:fs/promises';
import type { Stats } from 'node:fs';

/** Why a file cannot be used, as a phrase after its name. */
export interface FileFault {
  readonly message: string;
  readonly hint: string;
}

export type FileBytes = { readonly bytes: Buffer } | { readonly fault: FileFault };

const REGULAR_HINT = 'name a regular file: it is read again whenever it changes';
const KIB = 1_024;
const MIB = 1_024 * KIB;
/** O_NONBLOCK, because opening a named pipe would wait for a writer. Windows has neither. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Reads a regular file of at most `mostBytes`. Everything else is a fault. Never throws. */
export async function readBytes(file: string, mostBytes: number): Promise<FileBytes> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, OPEN_FLAGS);
    const stats = await handle.stat();
    const fault = kindFault(stats) ?? (stats.size > mostBytes ? sizeFault(stats.size, mostBytes) : undefined);
    return fault === undefined ? await readTo(handle, mostBytes) : { fault };
  } catch (error) {
    return { fault: errorFault(error as NodeJS.ErrnoException, file) };
  } finally {
    await handle?.close();
  }
}

/** Reads to the current end, which may have changed since the file was opened. */
async function readTo(handle: FileHandle, mostBytes: number): Promise<FileBytes> {
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(64 * KIB), 0, 64 * KIB, null);
    if (bytesRead === 0) return { bytes: Buffer.concat(pieces, length) };
    length += bytesRead;
    if (length > mostBytes) return { fault: sizeFault(length, mostBytes) };
    pieces.push(buffer.subarray(0, bytesRead));
  }
}

function kindFault(stats: Stats): FileFault | undefined {
  if (stats.isFile()) return undefined;
  const hint = REGULAR_HINT;
  if (stats.isDirectory()) return { message: 'it is a folder', hint: 'name the file in it' };
  if (stats.isFIFO()) return { message: 'it is a named pipe', hint };
  if (stats.isSocket()) return { message: 'it is a socket', hint };
  return { message: 'it is a device', hint };
}

function sizeFault(size: number, mostBytes: number): FileFault {
  const message = `it has ${sizeText(size)}, and at most ${sizeText(mostBytes)} are read`;
  return { message, hint: 'see whether the right file is named, and whether all of it is needed' };
}

function sizeText(bytes: number): string {
  return bytes >= MIB ? `${Number((bytes / MIB).toFixed(1))} MiB` : `${Math.ceil(bytes / KIB)} KiB`;
}

function errorFault({ code, message }: NodeJS.ErrnoException, file: string): FileFault {
  const hint = `looked for ${file.replaceAll('\0', '\\0')}`;
  switch (code) {
    case 'ENOENT':
      return { message: 'there is no such file', hint };
    case 'ENOTDIR':
      return { message: 'a part of its path is a file, not a folder', hint };
    case 'EACCES':
    case 'EPERM':
      return { message: 'permission is denied', hint: `let the user that runs trailgate read ${file}` };
    case 'ELOOP':
      return { message: 'its symbolic links lead in a circle', hint };
    case 'ENAMETOOLONG':
      return { message: 'its name is too long', hint: 'name a shorter path' };
    case 'ENXIO':
      return { message: 'it is no file that can be opened', hint: REGULAR_HINT };
    case 'EISDIR':
      return { message: 'it is a folder', hint: 'name the file in it' };
    default:
      return { message: code ?? message, hint };
  }
}
