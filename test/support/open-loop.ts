/** Open-loop load: sends requests at a fixed rate, even if responses are slow. A slow server gets no less load. */
import { sleep } from './processes.js';

const TICK_MS = 5;

/** Shot is one request and its result. */
export interface Shot<Result> {
  readonly index: number;
  /** Start time by `Date.now()`, comparable with times in logs. */
  readonly startedMs: number;
  readonly durationMs: number;
  readonly result: Result;
}

export interface OpenLoop<Result> {
  /** Resolves when all requests have their results. */
  readonly done: Promise<Shot<Result>[]>;
  /** Returns the number of requests sent so far. */
  sent(): number;
}

/** Starts to send `perSecond` requests per second for `seconds` seconds. `shoot` sends one and must not reject. */
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
