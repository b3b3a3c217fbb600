import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Pace } from './pace.js';

describe('a pace', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const instants = async (pace: Pace, stepMs: number, into: number[]): Promise<void> => {
    for (let step = 1; step <= 4; step++) {
      await new Promise((resolve) => setTimeout(resolve, stepMs));
      await pace.waitUntilShare(step / 4);
      into.push(performance.now());
    }
  };

  it('spreads steps evenly over its span, whatever each takes', async () => {
    const startMs = performance.now();
    const into: number[] = [];
    const done = instants(new Pace(1_000), 100, into);
    await jest.advanceTimersByTimeAsync(1_000);
    await done;
    expect(into.map((atMs) => atMs - startMs)).toEqual([250, 500, 750, 1_000]);
  });

  it('does not wait if the work is late', async () => {
    const startMs = performance.now();
    const into: number[] = [];
    const done = instants(new Pace(1_000), 400, into);
    await jest.advanceTimersByTimeAsync(1_600);
    await done;
    expect(into.map((atMs) => atMs - startMs)).toEqual([400, 800, 1_200, 1_600]);
  });

  it('ends its pause after `hurry`, and makes no more', async () => {
    const pace = new Pace(1_000_000);
    const into: number[] = [];
    const done = instants(pace, 0, into);
    await jest.advanceTimersByTimeAsync(10);
    expect(into).toEqual([]);
    pace.skipPauses();
    await jest.advanceTimersByTimeAsync(10);
    await done;
    expect(into).toHaveLength(4);
    expect(jest.getTimerCount()).toBe(0);
  });
});
