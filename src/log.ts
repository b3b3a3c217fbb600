/**
 * The log: JSON lines on standard output, written in batches and never awaited. When the reader is too slow, lines are
 * dropped and counted instead of filling the memory or stopping the program.
 */
import { destination as openDestination, pino, type Logger } from 'pino';
import { METRICS } from './metrics.js';

export type { Logger };

/** Lines are written together when there are so many of them. */
const BATCH_BYTES = 8_192;
const LARGEST_WRITE_BYTES = 16_384;
/** What several processes write to one pipe stays whole up to this size (`PIPE_BUF`). */
const LARGEST_SHARED_WRITE_BYTES = 4_096;
const FLUSH_INTERVAL_MS = 100;
/** Most bytes that wait for a slow reader. */
const LARGEST_BACKLOG_BYTES = 16 * 1024 * 1024;

export interface Log {
  readonly logger: Logger;
  /** Writes one finished JSON line; the caller has serialised it. Cheaper than the logger, for one line a request. */
  write(line: string): void;
  /** Waits until everything is written, at most `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
}

/** The lines of one write while they gather. The destination would copy all of them again for each one that is added. */
class Batch {
  private text = '';
  private bytes = 0;

  constructor(
    private readonly destination: ReturnType<typeof openDestination>,
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

  /** Hands what has gathered to the destination, which writes it now, or when the write before is done. */
  pass(): void {
    if (this.bytes === 0) return;
    const { text } = this;
    this.text = '';
    this.bytes = 0;
    this.destination.write(text);
  }

  /** Writes all of it before it returns; called by the logger for a fatal line, and at the end of the process. */
  flushSync(): void {
    this.pass();
    this.destination.flushSync();
  }
}

/** Opens the log on a file descriptor (1: standard output). @param shared whether other processes write to it as well. */
export function openLog(level: string, fd = 1, shared = false): Log {
  const maxWrite = shared ? LARGEST_SHARED_WRITE_BYTES : LARGEST_WRITE_BYTES;
  // With a `minLength` of 0 it would say that it has flushed before it has.
  const destination = openDestination({ fd, sync: false, minLength: 1, maxWrite, maxLength: LARGEST_BACKLOG_BYTES });
  const dropped = METRICS.logLinesDropped.series();
  destination.on('drop', (text: string) => dropped.inc(text.split('\n').length - 1));
  // A reader that has gone (EPIPE) or a full disk must not stop the gateway.
  destination.on('error', () => dropped.inc());
  const batch = new Batch(destination, Math.min(BATCH_BYTES, maxWrite), maxWrite);
  setInterval(() => batch.pass(), FLUSH_INTERVAL_MS).unref();
  process.once('exit', () => {
    try {
      batch.flushSync();
    } catch {
      // Nobody reads it any more.
    }
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
    flush: (timeoutMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        batch.pass();
        destination.flush(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}
