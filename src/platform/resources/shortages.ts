/**
 * What this process has run out of: file descriptors, ports, memory for sockets. That is nobody's fault but ours, and
 * whoever notices it says so here. Each time is counted; the log has a line now and then.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Logger } from '../log.js';
import { METRICS, type OwnResource } from '../metrics.js';

/** At least so long between two lines about the same resource. */
const LOG_INTERVAL_MS = 10_000;
/** So long after a shortage of file descriptors a name that is not found is not believed to be unknown. */
const LASTS_MS = 1_000;

/** By `error.code`. */
const BY_CODE: Readonly<Record<string, OwnResource>> = {
  EMFILE: 'file_descriptors',
  ENFILE: 'file_descriptors',
  EADDRNOTAVAIL: 'ports',
  ENOBUFS: 'memory',
  ENOMEM: 'memory',
};

/** What an error code says that we have run out of; undefined: it says something else. */
export function resourceOf(code: string | undefined): OwnResource | undefined {
  return code === undefined ? undefined : BY_CODE[code];
}

interface Noted {
  /** When a line was logged last. */
  loggedMs: number;
  /** How often since then. */
  times: number;
}

export class Shortages {
  /** Set at the start; nothing is logged before. */
  log: Logger | undefined;
  private readonly noted = new Map<OwnResource, Noted>();
  private descriptorsMs = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Takes note of one that was met.
   * @param where what could not be done;
   * @param code of the error, where there was one.
   */
  note(resource: OwnResource, where: string, code?: string): void {
    METRICS.outOfResources.series(resource).inc();
    const nowMs = this.now();
    if (resource === 'file_descriptors') this.descriptorsMs = nowMs;
    const noted = this.noted.get(resource) ?? { loggedMs: -Infinity, times: 0 };
    this.noted.set(resource, noted);
    noted.times++;
    if (nowMs - noted.loggedMs < LOG_INTERVAL_MS) return;
    const line = { event: 'out_of_resources', resource, where, code, times: noted.times };
    this.log?.error(line, 'This process has run out of something: raise its limits, or give it less to do');
    noted.loggedMs = nowMs;
    noted.times = 0;
  }

  /** Whether no file can be opened, or could not a moment ago. Asks the system: only for who has just failed. */
  get isOutOfDescriptors(): boolean {
    if (this.now() - this.descriptorsMs < LASTS_MS) return true;
    try {
      closeSync(openSync(devNull, 'r'));
      return false;
    } catch (error) {
      return resourceOf((error as NodeJS.ErrnoException).code) === 'file_descriptors';
    }
  }
}

/** Of this process. */
export const SHORTAGES = new Shortages();
