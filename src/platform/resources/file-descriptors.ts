/**
 * Limit of file descriptors, some of which are reserved. Without them, the process could not reach backends or the
 * database, and libuv would close new connections silently. Reads `/proc` on Linux. On other systems, there is no
 * limit.
 */
import { readFile } from 'node:fs/promises';
import { resourceOf, SHORTAGES } from './shortages.js';

/** One of this many descriptors is reserved. */
const RESERVED_SHARE = 8;
const MOST_RESERVED = 1_024;
const LIMITS_FILE = '/proc/self/limits';
const SOFT_LIMIT = /^Max open files +(\d+)/m;

export class FileDescriptors {
  /** Maximum number of descriptors. Infinity if unknown. */
  limit = Infinity;

  /** @param limits reads the system's limits, which can change at any time. */
  constructor(private readonly limits: () => Promise<string> = () => readFile(LIMITS_FILE, 'utf8')) {}

  /** Number of descriptors that clients may use. */
  get forClients(): number {
    return this.limit - Math.min(MOST_RESERVED, Math.ceil(this.limit / RESERVED_SHARE));
  }

  /**
   * Whether a connection uses a reserved descriptor. The system assigns the lowest free number, so all lower ones are
   * taken.
   */
  isReserved(descriptor: number): boolean {
    return descriptor >= this.forClients;
  }

  /** Reads the limit again. Records a shortage if there is no descriptor left for that. Never rejects. */
  async refresh(): Promise<void> {
    try {
      this.limit = Number(SOFT_LIMIT.exec(await this.limits())?.[1] ?? Infinity);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // New connections are now closed without notice.
      if (resourceOf(code) === 'file_descriptors') SHORTAGES.note('file_descriptors', 'accept', code);
    }
  }
}
