/**
 * The log: JSON lines on standard output, written in batches and never awaited. When the reader is too slow or gone,
 * lines are dropped and counted instead of filling the memory or stopping the program.
 */
import fs from 'node:fs';
import { pino, type Logger } from 'pino';
import { systemClock } from './clock.js';
import { LogWriter, type LogLoss } from './log-writer.js';
import type { ReadsGauges } from './metrics-text.js';
import { METRICS } from './metrics.js';
import { formatUtc } from './rfc3339.js';

export type { Logger };

/** Lines are written together when there are so many of them. */
const BATCH_BYTES = 8_192;
const LARGEST_WRITE_BYTES = 16_384;
/** What several processes write to one pipe stays whole up to this size (`PIPE_BUF`). */
const LARGEST_SHARED_WRITE_BYTES = 4_096;
const FLUSH_INTERVAL_MS = 100;
const STANDARD_ERROR = 2;
/** Most bytes that wait for a slow reader. */
const LARGEST_BACKLOG_BYTES = 16 * 1024 * 1024;

export interface Log extends ReadsGauges {
  readonly logger: Logger;
  /** Writes one finished JSON line; the caller has serialised it. Cheaper than the logger, for one line a request. */
  write(line: string): void;
  /** Waits until everything is written, at most `timeoutMs`; not for a reader that is gone. */
  flush(timeoutMs: number): Promise<void>;
  /** Undefined while lines can be written, as far as is known. */
  readonly lost: LogLoss | undefined;
}

/**
 * The lines of one write while they gather. The destination would copy all of them again for each one that is added.
 */
class Batch {
  private text = '';
  private bytes = 0;

  constructor(
    private readonly writer: LogWriter,
    private readonly batchBytes: number,
    private readonly mostBytes: number,
  ) {}

  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.bytes + bytes > this.mostBytes) this.pass();
    this.text += line;
    this.bytes += bytes;
    if (this.bytes >= this.batchBytes) this.pass();
  }

  /** Hands what has gathered to the writer, which writes it now, or when the write before is done. */
  pass(): void {
    if (this.bytes === 0) return;
    const { text, bytes } = this;
    this.text = '';
    this.bytes = 0;
    this.writer.write(text, bytes);
  }

  /** Called by the logger for a fatal line; the end of the process, which follows, waits until it is written. */
  flushSync(): void {
    this.pass();
  }
}

/**
 * Opens the log on a file descriptor (1: standard output).
 * @param shared whether other processes write to it as well.
 */
export function openLog(level: string, fd = 1, shared = false): Log {
  const mostBytes = shared ? LARGEST_SHARED_WRITE_BYTES : LARGEST_WRITE_BYTES;
  const dropped = METRICS.logLinesDropped.series();
  const droppedBefore = { lines: 0 };
  const writer = new LogWriter({
    fd,
    mostBytes,
    mostWaiting: LARGEST_BACKLOG_BYTES,
    nowMs: () => systemClock.now(),
    onDropped: (lines) => dropped.inc(lines),
    onLost: (loss) => {
      droppedBefore.lines = dropped.value;
      tellOnStandardError(loss);
    },
    onBack: ({ sinceMs, cause }) => {
      const fields = {
        event: 'log_back',
        cause,
        since: formatUtc(sinceMs),
        lines: dropped.value - droppedBefore.lines,
      };
      logger.warn(fields, 'The log can be written again; so many lines are missing');
    },
  });
  const batch = new Batch(writer, Math.min(BATCH_BYTES, mostBytes), mostBytes);
  setInterval(() => batch.pass(), FLUSH_INTERVAL_MS).unref();
  process.once('exit', () => {
    batch.pass();
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
      batch.pass();
      return writer.flush(timeoutMs);
    },
    readGauges: () => METRICS.logUp.series().set(writer.lost === undefined ? 1 : 0),
    get lost() {
      return writer.lost;
    },
  };
}

/** Where the log itself cannot say it. Never waited for either. */
function tellOnStandardError({ cause, isForGood }: LogLoss): void {
  const what = isForGood
    ? `nobody reads the log any more (${cause}); its lines are dropped and counted in trailgate_log_lines_dropped_total`
    : `the log cannot be written (${cause}); its lines wait, and are dropped and counted beyond ` +
      `${LARGEST_BACKLOG_BYTES} bytes`;
  fs.write(STANDARD_ERROR, `trailgate: ${what}\n`, () => undefined);
}
