/** Windows that share an array do not affect each other, and freed rings are reused. */
import { describe, expect, it } from '@jest/globals';
import { RingPool } from './ring-pool.js';
import { SlidingWindow } from './sliding-window.js';

const START = 1_795_000_000;
const RINGS_PER_CHUNK = 512;

interface Taken {
  readonly counts: Uint16Array;
  readonly from: number;
}

const takeMany = (pool: RingPool, count: number): Taken[] => Array.from({ length: count }, () => pool.allocateRing());

describe('a pool of rings', () => {
  it('gives every window its own ring', () => {
    const pool = new RingPool();
    const windows = takeMany(pool, RINGS_PER_CHUNK + 3).map(({ counts, from }) => new SlidingWindow(counts, from));
    windows.forEach((window, index) => {
      for (let second = 0; second < 61; second++) {
        window.slideTo(START + second);
        window.add(index + 1);
      }
    });
    windows.forEach((window, index) => {
      window.slideTo(START + 61 + 30);
      expect(window.sum).toBe((index + 1) * 30);
    });
    expect(pool.size).toBe(2);
  });

  it('reuses a freed ring, emptied', () => {
    const pool = new RingPool();
    const { counts, from } = pool.allocateRing();
    counts.fill(7, from, from + 61);
    pool.releaseRing(counts, from);
    const again = takeMany(pool, RINGS_PER_CHUNK);
    expect(pool.size).toBe(1);
    expect(new Set(again.map((ring) => ring.from)).size).toBe(RINGS_PER_CHUNK);
    expect(counts.every((count) => count === 0)).toBe(true);
  });

  it('frees arrays without used rings, except for one', () => {
    const pool = new RingPool();
    const rings = takeMany(pool, 5 * RINGS_PER_CHUNK);
    expect(pool.size).toBe(5);
    for (const { counts, from } of rings) pool.releaseRing(counts, from);
    expect(pool.size).toBe(1);
    takeMany(pool, 2 * RINGS_PER_CHUNK);
    expect(pool.size).toBe(2);
  });
});
