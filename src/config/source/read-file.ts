/** Reads files that the configuration names, with a size limit and without blocking on special files. */
import { constants, open, type FileHandle } from 'node:fs/promises';
import type { Stats } from 'node:fs';

/** Reason why a file cannot be used, and advice. The message is a phrase that follows the name of the file. */
export interface FileFault {
  readonly message: string;
  readonly hint: string;
}

export type FileBytes = { readonly bytes: Buffer } | { readonly fault: FileFault };

const REGULAR_HINT = 'name a regular file: it is read again whenever it changes';
const KIB = 1_024;
const MIB = 1_024 * KIB;
/**
 * Flags for opening a file. Without O_NONBLOCK, which Windows does not have, opening a named pipe would wait for a
 * writer.
 */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a regular file of at most `maxBytes`. Returns a fault for any other file, and for a file that cannot be read.
 */
export async function readBytes(file: string, maxBytes: number): Promise<FileBytes> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, OPEN_FLAGS);
    const stats = await handle.stat();
    const fault = kindFault(stats) ?? (stats.size > maxBytes ? sizeFault(stats.size, maxBytes) : undefined);
    return fault === undefined ? await readTo(handle, maxBytes) : { fault };
  } catch (error) {
    return { fault: errorFault(error as NodeJS.ErrnoException, file) };
  } finally {
    await handle?.close();
  }
}

/** Reads to the end of the file. The file may have grown since its size was checked. */
async function readTo(handle: FileHandle, maxBytes: number): Promise<FileBytes> {
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(64 * KIB), 0, 64 * KIB, null);
    if (bytesRead === 0) return { bytes: Buffer.concat(pieces, length) };
    length += bytesRead;
    if (length > maxBytes) return { fault: sizeFault(length, maxBytes) };
    pieces.push(buffer.subarray(0, bytesRead));
  }
}

/** Returns the fault of a file that is not a regular file. Undefined for a regular file. */
function kindFault(stats: Stats): FileFault | undefined {
  if (stats.isFile()) return undefined;
  const hint = REGULAR_HINT;
  if (stats.isDirectory()) return { message: 'it is a folder', hint: 'name the file in it' };
  if (stats.isFIFO()) return { message: 'it is a named pipe', hint };
  if (stats.isSocket()) return { message: 'it is a socket', hint };
  return { message: 'it is a device', hint };
}

function sizeFault(size: number, maxBytes: number): FileFault {
  const message = `it has ${sizeText(size)}, and at most ${sizeText(maxBytes)} are read`;
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
