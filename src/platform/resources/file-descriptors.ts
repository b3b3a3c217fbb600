/**
 * Reads the limit of file descriptors, and reserves some of them. Without a reserve, the process could not reach
 * backends or the database, and libuv would close new connections silently. Reads `/proc` on Linux. On other systems,
 * the limit is treated as infinite.
 */
import { readFile } from 'node:fs/promises';
import { resourceOf, SHORTAGES } from './shortages.js';

/** Divisor of the limit. An eighth of the descriptors is reserved, up to `MAX_RESERVED`. */
const RESERVED_SHARE = 8;
const MAX_RESERVED = 1_024;
const LIMITS_FILE = '/proc/self/limits';
const SOFT_LIMIT = /^Max open files +(\d+)/m;

export class FileDescriptors {
  /** Maximum number of descriptors of the process. Infinity if unknown. */
  limit = Infinity;

  /** @param limits reads the text of the system's limits, which can change at any time */
  constructor(private readonly limits: () => Promise<string> = () => readFile(LIMITS_FILE, 'utf8')) {}

  /** Number of descriptors that clients may use. */
  get forClients(): number {
    return this.limit - Math.min(MAX_RESERVED, Math.ceil(this.limit / RESERVED_SHARE));
  }

  /**
   * Reports whether a connection uses a reserved descriptor. The system assigns the lowest free number, so all lower
   * numbers are in use.
   */
  isReserved(descriptor: number): boolean {
    return descriptor >= this.forClients;
  }

  /** Reads the limit again. If no descriptor is free for reading it, records a shortage. Never rejects. */
  async refresh(): Promise<void> {
    try {
      this.limit = Number(SOFT_LIMIT.exec(await this.limits())?.[1] ?? Infinity);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Without a free descriptor, libuv closes new connections silently.
      if (resourceOf(code) === 'file_descriptors') SHORTAGES.record('file_descriptors', 'accept', code);
    }
  }
}
