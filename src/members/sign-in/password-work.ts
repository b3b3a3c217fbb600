/** Queue for password hashes. Each takes 19 MiB and much CPU by design, in the process that serves requests. */
import { Problem } from '../../platform/problems/errors.js';

/** Maximum number of concurrent hashes. They use libuv's pool of four threads, which DNS and file access share. */
const MOST_AT_ONCE = 2;
const MOST_WAITING = 20;
const LONGEST_WAIT_MS = 3_000;
const RETRY_AFTER_SECONDS = 2;

interface Waiter {
  readonly go: () => void;
  readonly timer: NodeJS.Timeout;
}

/** PasswordWork limits concurrent hashes, queues a few more, and rejects the rest. */
export class PasswordWork {
  private running = 0;
  private readonly waiting: Waiter[] = [];

  /** Current length of the queue. */
  get waitingCount(): number {
    return this.waiting.length;
  }

  /**
   * Runs a task when there is capacity and returns its result.
   * @throws Problem `sign_in_busy` if the queue is full or the wait is too long; the task has not started
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running < MOST_AT_ONCE) this.running++;
    else await this.waitForSlot();
    try {
      return await work();
    } finally {
      this.pass();
    }
  }

  /** Waits until a finished task hands over its slot. */
  private async waitForSlot(): Promise<void> {
    if (this.waiting.length >= MOST_WAITING) throw busy();
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(waiter), 1);
        reject(busy());
      }, LONGEST_WAIT_MS);
      const waiter = { go: resolve, timer };
      this.waiting.push(waiter);
    });
  }

  private pass(): void {
    const next = this.waiting.shift();
    if (next === undefined) {
      this.running--;
      return;
    }
    clearTimeout(next.timer);
    next.go();
  }
}

function busy(): Problem {
  return new Problem('sign_in_busy', {
    detail: `Too many sign-ins at the moment. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    headers: ['Retry-After', String(RETRY_AFTER_SECONDS)],
  });
}
