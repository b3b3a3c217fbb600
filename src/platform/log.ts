/**
 * Writes the log as JSON lines to standard output, in batches in the background. If the reader is too slow or missing,
 * drops and counts lines. Waiting lines neither fill the memory nor block the program.
 */
import fs from 'node:fs';
import { pino, type Logger } from 'pino';
import { systemClock } from './clock.js';
import { LogWriter, type LogLoss } from './log-writer.js';
import type { ReadsGauges } from './collect-metrics.js';
import { METRICS } from './metrics.js';
import { formatUtc } from './rfc3339.js';

export type { Logger };

/** Size in bytes at which a batch is written. */
const BATCH_BYTES = 8_192;
const LARGEST_WRITE_BYTES = 16_384;
/** Writes up to this size (`PIPE_BUF`) stay intact if several processes share a pipe. */
const LARGEST_SHARED_WRITE_BYTES = 4_096;
const FLUSH_INTERVAL_MS = 100;
const STANDARD_ERROR = 2;
/** Maximum number of bytes that wait for a slow reader. */
const LARGEST_BACKLOG_BYTES = 16 * 1024 * 1024;

export interface Log extends ReadsGauges {
  readonly logger: Logger;
  /** Writes one complete JSON line. Cheaper than `logger`, for the line of each request. */
  write(line: string): void;
  /** Resolves when everything is written, when the log has no reader, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
  /** Why and since when lines cannot be written. Undefined if no write has failed since the last successful write. */
  readonly lost: LogLoss | undefined;
}

/**
 * Batch collects the lines of one write. Without a batch, the writer would copy the collected text for every added
 * line.
 */
class Batch {
  private text = '';
  private bytes = 0;

  constructor(
    private readonly writer: LogWriter,
    private readonly batchBytes: number,
    private readonly maxWriteBytes: number,
  ) {}

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.bytes + bytes > this.maxWriteBytes) this.flushToWriter();
    this.text += line;
    this.bytes += bytes;
    if (this.bytes >= this.batchBytes) this.flushToWriter();
  }

  flushToWriter(): void {
    if (this.bytes === 0) return;
    const { text, bytes } = this;
    this.text = '';
    this.bytes = 0;
    this.writer.write(text, bytes);
  }

  /**
   * Passes the batch to the writer. pino calls this after a fatal line. The process waits for the write when it exits.
   */
  flushSync(): void {
    this.flushToWriter();
  }
}

/**
 * Opens the log on a file descriptor.
 * @param level minimum level of the logger's lines
 * @param fd 1 for standard output
 * @param shared whether other processes write to the same descriptor
 */
export function openLog(level: string, fd = 1, shared = false): Log {
  const maxWriteBytes = shared ? LARGEST_SHARED_WRITE_BYTES : LARGEST_WRITE_BYTES;
  const dropped = METRICS.logLinesDropped.series();
  const droppedBefore = { lines: 0 };
  const writer = new LogWriter({
    fd,
    maxWriteBytes,
    maxWaitingBytes: LARGEST_BACKLOG_BYTES,
    nowMs: () => systemClock.now(),
    onDropped: (lines) => dropped.inc(lines),
    onLost: (loss) => {
      droppedBefore.lines = dropped.value;
      reportLoss(loss);
    },
    onBack: ({ sinceMs, cause }) => {
      const fields = {
        event: 'log_back',
        cause,
        since: formatUtc(sinceMs),
        lines: dropped.value - droppedBefore.lines,
      };
      logger.warn(fields, 'The log can be written again; `lines` is the number of missing lines');
    },
  });
  const batch = new Batch(writer, Math.min(BATCH_BYTES, maxWriteBytes), maxWriteBytes);
  setInterval(() => batch.flushToWriter(), FLUSH_INTERVAL_MS).unref();
  process.once('exit', () => {
    batch.flushToWriter();
    writer.endSync();
  });
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    batch,
  );
  return {
    logger,
    write: (line) => batch.write(line),
    flush: (timeoutMs) => {
      batch.flushToWriter();
      return writer.flush(timeoutMs);
    },
    readGauges: () => METRICS.logUp.series().set(writer.currentLoss === undefined ? 1 : 0),
    get lost() {
      return writer.currentLoss;
    },
  };
}

/** Reports a loss of the log on standard error. */
function reportLoss({ cause, isForGood }: LogLoss): void {
  const message = isForGood
    ? `the reader of the log is gone (${cause}); lines are dropped and counted in trailgate_log_lines_dropped_total`
    : `the log cannot be written (${cause}); lines wait, and are dropped and counted beyond ` +
      `${LARGEST_BACKLOG_BYTES} bytes`;
  fs.write(STANDARD_ERROR, `trailgate: ${message}\n`, () => undefined);
}
