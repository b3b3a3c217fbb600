/**
 * How many file descriptors this process may have, and the last of them, which clients do not get. Without them it
 * could neither ask a backend nor the database, and the C library would close new connections without a word. By
 * Linux's `/proc`: elsewhere nothing is known, and nothing is kept back.
 */
import { readFile } from 'node:fs/promises';
import { resourceOf, SHORTAGES } from './shortages.js';

/** Of the descriptors that there may be, one in so many is kept back. */
const RESERVED_SHARE = 8;
const MOST_RESERVED = 1_024;
const LIMITS_FILE = '/proc/self/limits';
const SOFT_LIMIT = /^Max open files +(\d+)/m;

export class FileDescriptors {
  /** The most that there may be; Infinity where nobody knows. */
  limit = Infinity;

  /** @param limits where the system tells; it can be changed at any time. */
  constructor(private readonly limits: () => Promise<string> = () => readFile(LIMITS_FILE, 'utf8')) {}

  /** Of them clients get this many, as far as nothing else has taken them. */
  get forClients(): number {
    return this.limit - Math.min(MOST_RESERVED, Math.ceil(this.limit / RESERVED_SHARE));
  }

  /** Whether a connection with this number has one that is kept back: the system gives the lowest that is free. */
  isReserved(descriptor: number): boolean {
    return descriptor >= this.forClients;
  }

  /** Asks the system anew, and notes where that cannot be done for want of a descriptor. Never rejects. */
  async look(): Promise<void> {
    try {
      this.limit = Number(SOFT_LIMIT.exec(await this.limits())?.[1] ?? Infinity);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Connections that come now are closed by the C library, and nobody is told.
      if (resourceOf(code) === 'file_descriptors') SHORTAGES.note('file_descriptors', 'accept', code);
    }
  }
}
