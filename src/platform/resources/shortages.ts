/**
 * Records shortages of this process: file descriptors, ports, memory for sockets. A metric counts each occurrence. The
 * log has at most one line per resource in ten seconds.
 */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Logger } from '../log.js';
import { METRICS, type OwnResource } from '../metrics.js';

/** Minimum time between two log lines about the same resource. */
const LOG_INTERVAL_MS = 10_000;
/** Time after a shortage of file descriptors during which failed DNS lookups are attributed to the shortage. */
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
  /** Occurrences since the last log line. */
  times: number;
}

export class Shortages {
  /** The program sets the log at its start. Before that, nothing is logged. */
  log: Logger | undefined;
  private readonly records = new Map<OwnResource, ShortageRecord>();
  private descriptorsMs = -Infinity;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Records a shortage.
   * @param where the operation that failed
   * @param code error code, if there was one
   */
  record(resource: OwnResource, where: string, code?: string): void {
    METRICS.outOfResources.series(resource).inc();
    const nowMs = this.now();
    if (resource === 'file_descriptors') this.descriptorsMs = nowMs;
    const record = this.records.get(resource) ?? { loggedMs: -Infinity, times: 0 };
    this.records.set(resource, record);
    record.times++;
    if (nowMs - record.loggedMs < LOG_INTERVAL_MS) return;
    const line = { event: 'out_of_resources', resource, where, code, times: record.times };
    this.log?.error(line, 'This process has run out of a resource: raise its limits, or reduce its load');
    record.loggedMs = nowMs;
    record.times = 0;
  }

  /**
   * True if no file can be opened, now or within the last second. Opens a file to find out, so read this only after a
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
