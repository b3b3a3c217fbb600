/**
 * Writes text to a file descriptor in the background, one write at a time. Waits for slow readers, and retries while
 * there is no reader. Limits the amount of waiting text. Drops and counts lines beyond the limit, and lines that can
 * never be written.
 */
import fs, { constants } from 'node:fs';

/** Limits of the pause before a write to a full pipe is repeated. The pause doubles while the pipe stays full. */
const SHORTEST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 64;
/** Interval of retries after an error. */
const RETRY_INTERVAL_MS = 500;
/** Maximum time that the exit of the process waits for a slow reader. */
const LAST_WRITES_MS = 200;

/** LogLoss describes why and since when nothing can be written. */
export interface LogLoss {
  readonly sinceMs: number;
  /** Error code, such as `EPIPE` (no reader) or `ENOSPC` (disk full). */
  readonly cause: string;
  /** True if no new reader can open the pipe or connection. Lines are then dropped instead of kept. */
  readonly isForGood: boolean;
}

export interface LogWriterOptions {
  readonly fd: number;
  readonly maxWriteBytes: number;
  readonly maxWaitingBytes: number;
  readonly nowMs: () => number;
  readonly onDropped: (lines: number) => void;
  readonly onLost: (loss: LogLoss) => void;
  readonly onBack: (loss: LogLoss) => void;
}

interface Piece {
  readonly text: string;
  readonly bytes: number;
}

export class LogWriter {
  private readonly fd: number;
  private readonly waiting: Piece[] = [];
  private waitingBytes = 0;
  /** The text that is being written, or that waits for a retry. */
  private current: Buffer | undefined;
  private isWriting = false;
  private timer: NodeJS.Timeout | undefined;
  private pauseMs = 0;
  private loss: LogLoss | undefined;
  private whenIdle: (() => void)[] = [];

  constructor(private readonly options: LogWriterOptions) {
    this.fd = openNonBlocking(options.fd);
  }

  /**
   * Returns why and since when lines cannot be written. Undefined if no write has failed since the last successful
   * write.
   */
  get currentLoss(): LogLoss | undefined {
    return this.loss;
  }

  /** Queues complete lines, or drops them if too many bytes are waiting. */
  write(text: string, bytes: number): void {
    if (this.waitingBytes + bytes > this.options.maxWaitingBytes) {
      this.options.onDropped(linesIn(text));
      return;
    }
    this.waiting.push({ text, bytes });
    this.waitingBytes += bytes;
    if (this.current === undefined) this.next();
  }

  /** Resolves when nothing is waiting, when writing fails, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void> {
    if (this.current === undefined || this.loss !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.whenIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /**
   * Writes the waiting text synchronously, at the exit of the process. Gives up at an error, or if the pipe is full
   * after 200 ms. The system completes a write that is already running.
   */
  endSync(): void {
    const giveUpMs = performance.now() + LAST_WRITES_MS;
    let remaining = this.isWriting ? this.takeBatch() : (this.current ?? this.takeBatch());
    while (remaining.length > 0) {
      try {
        remaining = remaining.subarray(fs.writeSync(this.fd, remaining));
      } catch (error) {
        if (!isFull(error) || performance.now() > giveUpMs) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SHORTEST_PAUSE_MS);
      }
      if (remaining.length === 0) remaining = this.takeBatch();
    }
  }

  private next(): void {
    if (this.waiting.length === 0) {
      this.current = undefined;
      this.resolveIdle();
      return;
    }
    this.current = this.takeBatch();
    this.writeCurrent();
  }

  /** Removes as many pieces from the queue as fit into one write, and returns their text. */
  private takeBatch(): Buffer {
    let text = '';
    let bytes = 0;
    let count = 0;
    for (const piece of this.waiting) {
      if (count > 0 && bytes + piece.bytes > this.options.maxWriteBytes) break;
      text += piece.text;
      bytes += piece.bytes;
      count += 1;
    }
    this.waiting.splice(0, count);
    this.waitingBytes -= bytes;
    return Buffer.from(text);
  }

  private writeCurrent(): void {
    const { current } = this;
    if (current === undefined) return;
    this.isWriting = true;
    fs.write(this.fd, current, this.onWritten);
  }

  private readonly onWritten = (error: NodeJS.ErrnoException | null, count: number): void => {
    this.isWriting = false;
    const { current } = this;
    if (current === undefined) return;
    if (error !== null) {
      if (isFull(error)) this.retryAfter((this.pauseMs = nextPause(this.pauseMs)));
      else this.onFailure(error);
      return;
    }
    this.pauseMs = 0;
    const { loss } = this;
    if (loss !== undefined) {
      this.loss = undefined;
      this.options.onBack(loss);
    }
    if (count < current.length) {
      this.current = current.subarray(count);
      this.writeCurrent();
    } else {
      this.next();
    }
  };

  private onFailure({ code = 'unknown' }: NodeJS.ErrnoException): void {
    if (this.loss === undefined) {
      this.loss = { sinceMs: this.options.nowMs(), cause: code, isForGood: isForGood(this.fd, code) };
      this.options.onLost(this.loss);
    }
    if (this.loss.isForGood) this.dropWaiting();
    this.resolveIdle();
    this.retryAfter(RETRY_INTERVAL_MS);
  }

  /** Drops all waiting lines, including lines that were partly written. */
  private dropWaiting(): void {
    const { current, waiting } = this;
    let lines = current === undefined ? 0 : linesIn(current.toString('latin1'));
    for (const { text } of waiting.splice(0)) lines += linesIn(text);
    this.waitingBytes = 0;
    this.options.onDropped(lines);
    this.current = undefined;
  }

  private retryAfter(afterMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.current === undefined) this.next();
      else this.writeCurrent();
    }, afterMs);
    // The timer must not keep the process alive. `flush` has its own timer.
    this.timer.unref();
  }

  private resolveIdle(): void {
    for (const resolve of this.whenIdle.splice(0)) resolve();
  }
}

function nextPause(pauseMs: number): number {
  return pauseMs === 0 ? SHORTEST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EAGAIN' || code === 'EBUSY';
}

function linesIn(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/**
 * Opens the same pipe again, so that writes to it do not block. A blocking write to a stalled reader would occupy a
 * thread and keep the process from ending. The flag belongs to the new descriptor, so it does not affect other users of
 * the pipe. Returns the given descriptor on systems other than Linux, or if it is no pipe.
 */
function openNonBlocking(fd: number): number {
  try {
    if (process.platform === 'linux' && fs.fstatSync(fd).isFIFO()) {
      return fs.openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    }
  } catch {
    // The pipe cannot be opened again, or has no reader. The given descriptor is used.
  }
  return fd;
}

/**
 * Reports whether the descriptor is an unnamed pipe or a connection that has lost its reader. No new reader can connect
 * to these.
 */
function isForGood(fd: number, code: string): boolean {
  if (code !== 'EPIPE' && code !== 'ECONNRESET') return false;
  try {
    const stats = fs.fstatSync(fd);
    if (stats.isSocket()) return true;
    return stats.isFIFO() && fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith('pipe:');
  } catch {
    return false;
  }
}
