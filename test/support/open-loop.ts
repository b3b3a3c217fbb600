/** Load at a fixed rate, whether or not the answers keep up: a server that slows down is not spared for it. */
import { sleep } from './processes.js';

const TICK_MS = 5;

/** One request and how it ended. */
export interface Shot<Result> {
  readonly index: number;
  /** Time by `Date.now()`, as in a log. */
  readonly startedMs: number;
  readonly durationMs: number;
  readonly result: Result;
}

export interface OpenLoop<Result> {
  /** Settles when every answer is there. */
  readonly done: Promise<Shot<Result>[]>;
  /** How many have been sent so far. */
  sent(): number;
}

/** Begins to send. `shoot` must not reject. */
export function openLoop<Result>(
  perSecond: number,
  seconds: number,
  shoot: (index: number) => Promise<Result>,
): OpenLoop<Result> {
  const shots: Promise<Shot<Result>>[] = [];
  const one = async (index: number): Promise<Shot<Result>> => {
    const startedMs = Date.now();
    const beganMs = performance.now();
    const result = await shoot(index);
    return { index, startedMs, durationMs: performance.now() - beganMs, result };
  };
  const run = async (): Promise<Shot<Result>[]> => {
    const beganMs = performance.now();
    const total = perSecond * seconds;
    while (shots.length < total) {
      const due = Math.min(total, Math.ceil(((performance.now() - beganMs) / 1_000) * perSecond));
      while (shots.length < due) shots.push(one(shots.length));
      await sleep(TICK_MS);
    }
    return Promise.all(shots);
  };
  return { done: run(), sent: () => shots.length };
}
