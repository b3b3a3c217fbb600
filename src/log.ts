/**
 * The log: JSON lines on standard output, written in batches and never awaited. When the reader is too slow, lines are
 * dropped and counted instead of filling the memory or stopping the program.
 */
import { destination as openDestination, pino, type Logger } from 'pino';
import { METRICS } from './metrics.js';

export type { Logger };

const BATCH_BYTES = 8_192;
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

/** Opens the log on a file descriptor (1: standard output). @param shared whether other processes write to it as well. */
export function openLog(level: string, fd = 1, shared = false): Log {
  const destination = openDestination({
    fd,
    sync: false,
    ...(shared
      ? { minLength: LARGEST_SHARED_WRITE_BYTES - 1, maxWrite: LARGEST_SHARED_WRITE_BYTES }
      : { minLength: BATCH_BYTES }),
    maxLength: LARGEST_BACKLOG_BYTES,
    periodicFlush: FLUSH_INTERVAL_MS,
  });
  const dropped = METRICS.logLinesDropped.series();
  destination.on('drop', () => dropped.inc());
  // A reader that has gone (EPIPE) or a full disk must not stop the gateway.
  destination.on('error', () => dropped.inc());
  const logger = pino(
    {
      level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  );
  return {
    logger,
    write: (line) => void destination.write(line),
    flush: (timeoutMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        destination.flush(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}
