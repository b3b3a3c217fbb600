import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { releaseMemoryWhenIdle } from './idle-memory.js';

const INTERVAL_MS = 5_000;
const BURST_BYTES = 100_000_000;

let allocated: number;
let external: number;
let collections: number;
/** Kinds of collections, with whether each saves memory. */
let saving: boolean[];
let stop: () => void;

beforeEach(() => {
  jest.useFakeTimers();
  allocated = BURST_BYTES;
  collections = 0;
  saving = [];
  external = 0;
  stop = releaseMemoryWhenIdle({
    allocated: () => allocated,
    external: () => external,
    beginCollection: (saveMemory) => {
      collections += 1;
      saving.push(saveMemory);
    },
  });
});
afterEach(() => {
  stop();
  jest.useRealTimers();
});

/** Simulates intervals, each with allocations of this size. */
function pass(intervals: number, bytes: number): void {
  for (let interval = 0; interval < intervals; interval++) {
    allocated += bytes;
    jest.advanceTimersByTime(INTERVAL_MS);
  }
}

describe('the memory of an idle process', () => {
  it('is left alone while the process works', () => {
    pass(100, 3_000_000);
    expect(collections).toBe(0);
  });

  it('is collected four times, ten seconds apart, after a burst', () => {
    pass(1, 0);
    const at: number[] = [];
    for (let interval = 1; interval <= 20; interval++) {
      const before = collections;
      pass(1, 10_000);
      if (collections > before) at.push(interval * INTERVAL_MS);
    }
    expect(at).toEqual([5_000, 15_000, 25_000, 35_000]);
  });

  it('is collected again after the next burst, but not for allocations while idle', () => {
    pass(20, 10_000);
    expect(collections).toBe(4);
    pass(100, 10_000);
    expect(collections).toBe(4);
    pass(1, BURST_BYTES);
    pass(20, 10_000);
    expect(collections).toBe(8);
  });

  it('is collected after external memory grows, but not again while it stays the same', () => {
    pass(20, 10_000);
    collections = 0;
    external = BURST_BYTES;
    pass(20, 10_000);
    expect(collections).toBeGreaterThan(0);
    collections = 0;
    pass(100, 10_000);
    expect(collections).toBe(0);
  });

  it('is collected from the beginning if work comes in between', () => {
    pass(3, 0);
    expect(collections).toBe(1);
    pass(1, BURST_BYTES);
    pass(20, 0);
    expect(collections).toBe(5);
  });

  it('is collected first without and then with memory saving', () => {
    pass(20, 0);
    expect(saving).toEqual([false, true, true, true]);
    pass(1, BURST_BYTES);
    saving = [];
    pass(1, 0);
    expect(saving).toEqual([false]);
  });

  it('is left alone once stopped', () => {
    stop();
    pass(20, 0);
    expect(collections).toBe(0);
  });
});
