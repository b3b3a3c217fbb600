/** The line before the hashing of passwords: slow and 19 MiB by design, in the process that serves requests. */
import { Problem } from '../../platform/problems/errors.js';

/** Hashes at once: they run in libuv's pool of four threads, which DNS and files share. */
const MOST_AT_ONCE = 2;
const MOST_WAITING = 20;
const LONGEST_WAIT_MS = 3_000;
const RETRY_AFTER_SECONDS = 2;

interface Waiter {
  readonly go: () => void;
  readonly timer: NodeJS.Timeout;
}

/** PasswordWork runs few hashes at once, lets a short line wait behind them, and refuses the rest. */
export class PasswordWork {
  private running = 0;
  private readonly waiting: Waiter[] = [];

  /** How many wait at this moment. */
  get waitingCount(): number {
    return this.waiting.length;
  }

  /**
   * Runs a piece of work as soon as there is room, and resolves to what it resolves to.
   * @throws Problem `sign_in_busy` where the line is full, or did not move in time; then the work has not begun.
   */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.running < MOST_AT_ONCE) this.running++;
    else await this.ownTurn();
    try {
      return await work();
    } finally {
      this.pass();
    }
  }

  /** Resolves when a place has been handed over by whoever had it. */
  private async ownTurn(): Promise<void> {
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
    detail: `Too many people sign in at this moment. Try again in ${RETRY_AFTER_SECONDS} seconds.`,
    headers: ['Retry-After', String(RETRY_AFTER_SECONDS)],
  });
}
