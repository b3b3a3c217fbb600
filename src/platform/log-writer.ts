/**
 * Writes text to a file descriptor, one write at a time and never awaited. A reader that is slow is
 * waited for in the background, and one that has gone is looked for again: what waits is bounded, and
 * every line that is not written is counted.
 */
import fs, { constants } from 'node:fs';

/** How soon a full pipe is tried again: doubling, while nothing of it has been read. */
const SHORTEST_PAUSE_MS = 1;
const LONGEST_PAUSE_MS = 64;
/** How often it is tried whether somebody reads again. */
const RETRY_INTERVAL_MS = 500;
/** At the end of the process a slow reader is waited for so long. */
const LAST_WRITES_MS = 200;

/** LogLoss says since when nothing can be written, and why. */
export interface LogLoss {
  readonly sinceMs: number;
  /** `EPIPE`: nobody reads; `ENOSPC`: the disk is full; … */
  readonly cause: string;
  /** Nobody can come and read it any more: lines do not wait for that. */
  readonly isForGood: boolean;
}

export interface LogWriterOptions {
  readonly fd: number;
  /** Most bytes of one write. */
  readonly mostBytes: number;
  /** Most bytes that wait. */
  readonly mostWaiting: number;
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
  /** What is being written, or is to be tried again. */
  private current: Buffer | undefined;
  /** Whether the system has it. */
  private isWriting = false;
  private timer: NodeJS.Timeout | undefined;
  private pauseMs = 0;
  private loss: LogLoss | undefined;
  private whenIdle: (() => void)[] = [];

  constructor(private readonly options: LogWriterOptions) {
    this.fd = withoutBlocking(options.fd);
  }

  /** Undefined while lines can be written, as far as is known. */
  get lost(): LogLoss | undefined {
    return this.loss;
  }

  /** Takes whole lines. */
  write(text: string, bytes: number): void {
    if (this.waitingBytes + bytes > this.options.mostWaiting) {
      this.options.onDropped(linesIn(text));
      return;
    }
    this.waiting.push({ text, bytes });
    this.waitingBytes += bytes;
    if (this.current === undefined) this.next();
  }

  /** Resolves when nothing waits, or nobody takes it; at most after `timeoutMs`. */
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
   * For the end of the process: writes what waits before it returns, and gives up soon. What
   * the system has already is left to it.
   */
  endSync(): void {
    const giveUpMs = performance.now() + LAST_WRITES_MS;
    let rest = this.isWriting ? this.take() : (this.current ?? this.take());
    while (rest.length > 0) {
      try {
        rest = rest.subarray(fs.writeSync(this.fd, rest));
      } catch (error) {
        if (!isFull(error) || performance.now() > giveUpMs) return;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SHORTEST_PAUSE_MS);
      }
      if (rest.length === 0) rest = this.take();
    }
  }

  private next(): void {
    if (this.waiting.length === 0) {
      this.current = undefined;
      this.tellIdle();
      return;
    }
    this.current = this.take();
    this.writeCurrent();
  }

  /** As many pieces as one write takes. */
  private take(): Buffer {
    let text = '';
    let bytes = 0;
    let count = 0;
    for (const piece of this.waiting) {
      if (count > 0 && bytes + piece.bytes > this.options.mostBytes) break;
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
      if (isFull(error)) this.tryAgain((this.pauseMs = nextPause(this.pauseMs)));
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
    if (this.loss.isForGood) this.drop();
    this.tellIdle();
    this.tryAgain(RETRY_INTERVAL_MS);
  }

  /** Lines of which a part has been written are lost as well. An empty one is left, to try with. */
  private drop(): void {
    const { current, waiting } = this;
    let lines = current === undefined ? 0 : linesIn(current.toString('latin1'));
    for (const { text } of waiting.splice(0)) lines += linesIn(text);
    this.waitingBytes = 0;
    this.options.onDropped(lines);
    this.current = undefined;
  }

  private tryAgain(afterMs: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.current === undefined) this.next();
      else this.writeCurrent();
    }, afterMs);
    // While the process ends nobody waits for this but `flush`, which has a timer of its own.
    this.timer.unref();
  }

  private tellIdle(): void {
    for (const told of this.whenIdle.splice(0)) told();
  }
}

function nextPause(pauseMs: number): number {
  return pauseMs === 0 ? SHORTEST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
}

/** The reader has not made room yet. */
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
 * The same pipe, opened once more so that a write to it never blocks: one that waits for a reader who has
 * stopped would keep a thread for itself, and the process from ending. Of this opening alone: others who
 * write to the pipe have theirs as it was.
 */
function withoutBlocking(fd: number): number {
  try {
    if (process.platform === 'linux' && fs.fstatSync(fd).isFIFO()) {
      return fs.openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    }
  } catch {
    // It may not be opened, or nobody reads it: then as it is.
  }
  return fd;
}

/** Whether what nobody reads is a pipe without a name, or a connection: no new reader can open those. */
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
