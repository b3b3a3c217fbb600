/**
 * Limits the concurrent computation of password hashes. Each hash takes 19 MiB and much CPU time by design, in the
 * process that serves requests.
 */
import { Problem } from '../../platform/problems/errors.js';

/**
 * Maximum number of concurrent hashes. The hashes use libuv's pool of four threads, which DNS and file access share.
 */
const MAX_AT_ONCE = 2;
const MAX_WAITING = 20;
const LONGEST_WAIT_MS = 3_000;
const RETRY_AFTER_SECONDS = 2;

interface Waiter {
  readonly start: () => void;
  readonly timer: NodeJS.Timeout;
}

/** PasswordWork runs a few hashes at a time, queues a few more, and rejects the rest. */
export class PasswordWork {
  private running = 0;
  private readonly waiting: Waiter[] = [];

  /** Number of tasks in the queue. */
  get waitingCount(): number {
    return this.waiting.length;
  }

  /**
   * Runs a task as soon as fewer than two tasks are running, and returns its result.
   * @throws Problem `sign_in_busy` if the queue is full or the wait exceeds three seconds; the task is then not started
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running < MAX_AT_ONCE) this.running++;
    else await this.waitForSlot();
    try {
      return await work();
    } finally {
      this.releaseSlot();
    }
  }

  /**
   * Waits until a finished task passes on its slot. Rejects with `sign_in_busy` if the queue is full or the wait
   * exceeds `LONGEST_WAIT_MS`.
   */
  private async waitForSlot(): Promise<void> {
    if (this.waiting.length >= MAX_WAITING) throw busy();
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        reject(busy());
      }, LONGEST_WAIT_MS);
      const waiter = { start: resolve, timer };
      this.waiting.push(waiter);
    });
  }

  /** Passes the slot of a finished task to the next waiting task, or frees the slot. */
  private releaseSlot(): void {
    const next = this.waiting.shift();
    if (next === undefined) {
      this.running--;
      return;
    }
    clearTimeout(next.timer);
    next.start();
  }
}

function busy(): Problem {
  return new Problem('sign_in_busy', {
    detail: `Too many sign-ins at the moment. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    headers: ['Retry-After', String(RETRY_AFTER_SECONDS)],
  });
}
