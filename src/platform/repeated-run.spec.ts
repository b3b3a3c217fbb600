/** Repeated work runs once at a time, continues after a failure, and ends with `stop`. */
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { RepeatedRun } from './repeated-run.js';

const INTERVAL_MS = 60_000;
const pass = (intervals: number) => jest.advanceTimersByTimeAsync(intervals * INTERVAL_MS);

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('runs at once, and again after every pause, until it is stopped', async () => {
  const run = jest.fn(async () => undefined);
  const repeated = new RepeatedRun(run, INTERVAL_MS, () => undefined);
  await pass(1);
  expect(run).not.toHaveBeenCalled();
  repeated.start();
  expect(run).toHaveBeenCalledTimes(1);
  await pass(3);
  expect(run).toHaveBeenCalledTimes(4);
  await repeated.stop();
  await pass(3);
  expect(run).toHaveBeenCalledTimes(4);
});

it('starts no run during another one, and `stop` waits for the current one', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const run = jest.fn(() => {
    const next = Promise.withResolvers<void>();
    runs.push(next);
    return next.promise;
  });
  const repeated = new RepeatedRun(run, INTERVAL_MS, () => undefined);
  repeated.start();
  await pass(2);
  expect(run).toHaveBeenCalledTimes(1);
  runs[0]?.resolve();
  await pass(1);
  expect(run).toHaveBeenCalledTimes(2);
  let hasEnded = false;
  const end = repeated.stop().then(() => (hasEnded = true));
  await pass(1);
  expect([hasEnded, repeated.isStopped]).toEqual([false, true]);
  runs[1]?.resolve();
  await end;
});

it('reports why a run failed, and runs again', async () => {
  const reasons: unknown[] = [];
  const run = jest.fn(() => Promise.reject(new Error(`run ${run.mock.calls.length}`)));
  const repeated = new RepeatedRun(run, INTERVAL_MS, (error) => void reasons.push((error as Error).message));
  repeated.start();
  await pass(2);
  expect(reasons).toEqual(['run 1', 'run 2', 'run 3']);
  await repeated.stop();
});

it('reports whether a failure is the first in a row, so that an outage is logged once', async () => {
  const firsts: boolean[] = [];
  let isAway = true;
  const run = async (): Promise<void> => {
    if (isAway) throw new Error('away');
  };
  const repeated = new RepeatedRun(run, INTERVAL_MS, (_error, isFirst) => void firsts.push(isFirst));
  repeated.start();
  await pass(1);
  isAway = false;
  await pass(1);
  isAway = true;
  await pass(2);
  expect(firsts).toEqual([true, false, true, false]);
  await repeated.stop();
});

it('can begin with a pause, and computes the length of each pause', async () => {
  const run = jest.fn(async () => undefined);
  const pauses = [1, 3, 1];
  const repeated = new RepeatedRun(
    run,
    () => (pauses.shift() ?? 1_000) * INTERVAL_MS,
    () => undefined,
  );
  repeated.startLater();
  const counts: number[] = [];
  for (let at = 0; at < 5; at++) {
    await pass(1);
    counts.push(run.mock.calls.length);
  }
  expect(counts).toEqual([1, 1, 1, 2, 3]);
  await repeated.stop();
});

it('`runNow` runs at once, or once more after the current run', async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const run = jest.fn(() => {
    const next = Promise.withResolvers<void>();
    runs.push(next);
    return next.promise;
  });
  const repeated = new RepeatedRun(run, INTERVAL_MS, () => undefined);
  repeated.startLater();
  repeated.runNow();
  expect(run).toHaveBeenCalledTimes(1);
  repeated.runNow();
  repeated.runNow();
  expect(run).toHaveBeenCalledTimes(1);
  runs[0]?.resolve();
  await pass(0);
  expect(run).toHaveBeenCalledTimes(2);
  runs[1]?.resolve();
  await pass(0);
  expect(run).toHaveBeenCalledTimes(2);
  const end = repeated.stop();
  repeated.runNow();
  await end;
  expect(run).toHaveBeenCalledTimes(2);
});

it('`runNow` during a failing run waits for the usual pause', async () => {
  const first = Promise.withResolvers<void>();
  const run = jest.fn(() => first.promise);
  const repeated = new RepeatedRun(run, INTERVAL_MS, () => undefined);
  repeated.start();
  repeated.runNow();
  first.reject(new Error('away'));
  await pass(0);
  expect(run).toHaveBeenCalledTimes(1);
  await pass(1);
  expect(run).toHaveBeenCalledTimes(2);
  await repeated.stop();
});

it('also reports a run that fails after `stop`, when `isStopped` is true', async () => {
  const reasons: unknown[] = [];
  const only = Promise.withResolvers<void>();
  const repeated = new RepeatedRun(
    () => only.promise,
    INTERVAL_MS,
    (error) => void reasons.push(error, repeated.isStopped),
  );
  repeated.start();
  const end = repeated.stop();
  const reason = new Error('closed');
  only.reject(reason);
  await end;
  expect(reasons).toEqual([reason, true]);
});
