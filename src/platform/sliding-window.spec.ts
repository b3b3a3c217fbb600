/** The ring holds 60 full seconds and the current one, whatever the clock does. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { MINUTE_BUCKETS, SlidingWindow } from './sliding-window.js';

const START = 1_795_000_000;

describe('a sliding window', () => {
  let window: SlidingWindow;
  beforeEach(() => {
    window = new SlidingWindow();
    window.slideTo(START);
  });

  const addAt = (bucket: number, amount: number): void => {
    window.slideTo(bucket);
    window.add(amount);
  };

  it('begins empty', () => {
    expect(window.sum).toBe(0);
  });

  it('keeps a count for 60 full seconds after its own, and drops it with the 61st', () => {
    window.add(3);
    window.slideTo(START + 60);
    expect(window.sum).toBe(3);
    window.slideTo(START + 61);
    expect(window.sum).toBe(0);
  });

  it('drops seconds one by one', () => {
    for (let second = 0; second < 61; second++) addAt(START + second, 1);
    expect(window.sum).toBe(61);
    for (let second = 61; second < 122; second++) {
      window.slideTo(START + second);
      expect(window.sum).toBe(121 - second);
    }
  });

  it('empties a slot before its reuse 61 seconds later', () => {
    window.add(5);
    addAt(START + MINUTE_BUCKETS, 2);
    expect(window.sum).toBe(2);
    window.slideTo(START + MINUTE_BUCKETS + 60);
    expect(window.sum).toBe(2);
    window.slideTo(START + MINUTE_BUCKETS + 61);
    expect(window.sum).toBe(0);
  });

  it('knows its oldest counted second, even after empty seconds', () => {
    window.add(1);
    addAt(START + 30, 1);
    expect(window.oldest).toBe(START);
    window.slideTo(START + 61);
    expect(window.oldest).toBe(START + 30);
    expect(window.sum).toBe(1);
  });

  it('stays exact if a second exceeds the pooled ring', () => {
    window.add(65_000);
    addAt(START + 1, 500);
    window.slideTo(START + 2);
    for (let request = 0; request < 3; request++) window.add(65_535);
    addAt(START + 3, 5_000_000_000);
    expect(window.sum).toBe(65_000 + 500 + 3 * 65_535 + 5_000_000_000);
    window.refundAt(START + 2, 65_535);
    window.slideTo(START + 61);
    expect(window.sum).toBe(500 + 2 * 65_535 + 5_000_000_000);
    window.slideTo(START + 63);
    expect(window.sum).toBe(5_000_000_000);
    window.slideTo(START + 3 - 3_600);
    expect(window.sum).toBe(5_000_000_000);
    window.slideTo(START + 3 - 3_600 + 61);
    expect(window.sum).toBe(0);
    window.add(1);
    expect([window.sum, window.freedAt(1)]).toEqual([1, START + 3 - 3_600 + 61 + 61]);
  });

  it('is empty after a long pause', () => {
    window.add(9);
    addAt(START + 86_400 * 40, 2);
    expect(window.sum).toBe(2);
    expect(window.oldest).toBe(START + 86_400 * 40);
    window.slideTo(START + 86_400 * 40 + 61);
    expect(window.sum).toBe(0);
  });

  it('keeps all counts, old and new, when the clock goes back by ten seconds', () => {
    window.add(4);
    addAt(START - 10, 1);
    expect(window.sum).toBe(5);
    window.slideTo(START + 60);
    expect(window.sum).toBe(5);
    window.slideTo(START + 61);
    expect(window.sum).toBe(0);
  });

  it('keeps all counts for exactly one more window when the clock goes back by an hour', () => {
    window.add(4);
    addAt(START + 20, 3);
    window.slideTo(START + 20 - 3_600);
    expect(window.sum).toBe(7);
    window.slideTo(START + 20 - 3_600 + 60);
    expect(window.sum).toBe(7);
    window.slideTo(START + 20 - 3_600 + 61);
    expect(window.sum).toBe(0);
  });

  it('reports when a given amount will have left', () => {
    addAt(START, 2);
    addAt(START + 10, 3);
    addAt(START + 20, 1);
    expect(window.freedAt(1)).toBe(START + 61);
    expect(window.freedAt(2)).toBe(START + 61);
    expect(window.freedAt(3)).toBe(START + 71);
    expect(window.freedAt(5)).toBe(START + 71);
    expect(window.freedAt(6)).toBe(START + 81);
  });

  it('reports a full window for more than it holds', () => {
    expect(window.freedAt(1)).toBe(START + 61);
    addAt(START + 5, 1);
    window.slideTo(START + 15);
    expect(window.freedAt(2)).toBe(START + 15 + 61);
  });
});

describe('refunding counts', () => {
  let window: SlidingWindow;
  beforeEach(() => {
    window = new SlidingWindow();
    window.slideTo(START);
    window.add(3);
    window.slideTo(START + 10);
    window.add(2);
  });

  it('subtracts the amount from its second only', () => {
    window.refundAt(START, 1);
    expect(window.sum).toBe(4);
    window.slideTo(START + 61);
    expect(window.sum).toBe(2);
  });

  it('never subtracts more than the second holds', () => {
    window.refundAt(START, 100);
    expect(window.sum).toBe(2);
    window.refundAt(START, 1);
    window.refundAt(START + 5, 1);
    expect(window.sum).toBe(2);
  });

  it('does nothing once the second has left the window, even if its slot was reused', () => {
    window.slideTo(START + 61);
    window.add(7);
    window.refundAt(START, 3);
    expect(window.sum).toBe(9);
  });

  it('does nothing for a future second', () => {
    window.refundAt(START + 61, 3);
    expect(window.sum).toBe(5);
  });

  it('makes the next second the oldest if all of the oldest was refunded', () => {
    window.refundAt(START, 3);
    expect(window.freedAt(1)).toBe(START + 10 + 61);
    expect(window.oldest).toBe(START + 10);
  });

  it('leaves an empty window when everything was refunded', () => {
    window.refundAt(START, 3);
    window.refundAt(START + 10, 2);
    expect(window.sum).toBe(0);
    window.slideTo(START + 30);
    window.add(1);
    expect([window.sum, window.oldest]).toEqual([1, START + 30]);
  });
});
