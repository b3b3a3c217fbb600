/**
 * Records shortages of this process: file descriptors, ports, memory for sockets. Each occurrence is counted; the log
 * has a line now and then.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Logger } from '../log.js';
import { METRICS, type OwnResource } from '../metrics.js';

/** Minimum time between two log lines about the same resource. */
const LOG_INTERVAL_MS = 10_000;
/** For this time after a shortage of file descriptors, failed DNS look-ups are attributed to it. */
const LASTS_MS = 1_000;

const BY_CODE: Readonly<Record<string, OwnResource>> = {
  EMFILE: 'file_descriptors',
  ENFILE: 'file_descriptors',
  EADDRNOTAVAIL: 'ports',
  ENOBUFS: 'memory',
  ENOMEM: 'memory',
};

/** Returns the resource whose shortage an error code indicates, or undefined. */
export function resourceOf(code: string | undefined): OwnResource | undefined {
  return code === undefined ? undefined : BY_CODE[code];
}

interface ShortageRecord {
  loggedMs: number;
  /** Occurrences since then. */
  times: number;
}

export class Shortages {
  /** Set at start. Nothing is logged before. */
  log: Logger | undefined;
  private readonly records = new Map<OwnResource, ShortageRecord>();
  private descriptorsMs = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Records a shortage.
   * @param where the operation that failed.
   * @param code error code, if there was one.
   */
  note(resource: OwnResource, where: string, code?: string): void {
    METRICS.outOfResources.series(resource).inc();
    const nowMs = this.now();
    if (resource === 'file_descriptors') this.descriptorsMs = nowMs;
    const record = this.records.get(resource) ?? { loggedMs: -Infinity, times: 0 };
    this.records.set(resource, record);
    record.times++;
    if (nowMs - record.loggedMs < LOG_INTERVAL_MS) return;
    const line = { event: 'out_of_resources', resource, where, code, times: record.times };
    this.log?.error(line, 'This process has run out of something: raise its limits, or give it less to do');
    record.loggedMs = nowMs;
    record.times = 0;
  }

  /**
   * Whether no file can be opened, now or within the last second. Opens a file to find out, so call it only after a
   * failure.
   */
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

export const SHORTAGES = new Shortages();
