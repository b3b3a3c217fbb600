/** The ring holds 60 whole seconds and the one being filled, whatever the clock does. */
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

  it('holds a count for 60 whole seconds after its own and drops it with the 61st', () => {
    window.add(3);
    window.slideTo(START + 60);
    expect(window.sum).toBe(3);
    window.slideTo(START + 61);
    expect(window.sum).toBe(0);
  });

  it('drops each second by itself', () => {
    for (let second = 0; second < 61; second++) addAt(START + second, 1);
    expect(window.sum).toBe(61);
    for (let second = 61; second < 122; second++) {
      window.slideTo(START + second);
      expect(window.sum).toBe(121 - second);
    }
  });

  it('uses a slot again for the second that is 61 later without keeping what was in it', () => {
    window.add(5);
    addAt(START + MINUTE_BUCKETS, 2);
    expect(window.sum).toBe(2);
    window.slideTo(START + MINUTE_BUCKETS + 60);
    expect(window.sum).toBe(2);
    window.slideTo(START + MINUTE_BUCKETS + 61);
    expect(window.sum).toBe(0);
  });

  it('knows its oldest counted second, over seconds in which nothing happened', () => {
    window.add(1);
    addAt(START + 30, 1);
    expect(window.oldest).toBe(START);
    window.slideTo(START + 61);
    expect(window.oldest).toBe(START + 30);
    expect(window.sum).toBe(1);
  });

  it('counts on exactly when a second holds more than a small number', () => {
    window.add(65_000);
    addAt(START + 1, 500);
    window.slideTo(START + 2);
    for (let request = 0; request < 3; request++) window.add(65_535);
    addAt(START + 3, 5_000_000_000);
    expect(window.sum).toBe(65_000 + 500 + 3 * 65_535 + 5_000_000_000);
    window.giveBack(START + 2, 65_535);
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

  it('is empty after a long silence, and counts from there', () => {
    window.add(9);
    addAt(START + 86_400 * 40, 2);
    expect(window.sum).toBe(2);
    expect(window.oldest).toBe(START + 86_400 * 40);
    window.slideTo(START + 86_400 * 40 + 61);
    expect(window.sum).toBe(0);
  });

  it('forgets nothing when the clock goes back by ten seconds, and keeps new counts no shorter', () => {
    window.add(4);
    addAt(START - 10, 1);
    expect(window.sum).toBe(5);
    window.slideTo(START + 60);
    expect(window.sum).toBe(5);
    window.slideTo(START + 61);
    expect(window.sum).toBe(0);
  });

  it('holds all of it for one more window when the clock goes back by an hour, and no longer', () => {
    window.add(4);
    addAt(START + 20, 3);
    window.slideTo(START + 20 - 3_600);
    expect(window.sum).toBe(7);
    window.slideTo(START + 20 - 3_600 + 60);
    expect(window.sum).toBe(7);
    window.slideTo(START + 20 - 3_600 + 61);
    expect(window.sum).toBe(0);
  });

  it('says when as much as is asked for has left', () => {
    addAt(START, 2);
    addAt(START + 10, 3);
    addAt(START + 20, 1);
    expect(window.freedAt(1)).toBe(START + 61);
    expect(window.freedAt(2)).toBe(START + 61);
    expect(window.freedAt(3)).toBe(START + 71);
    expect(window.freedAt(5)).toBe(START + 71);
    expect(window.freedAt(6)).toBe(START + 81);
  });

  it('names a whole window where more is asked for than it holds', () => {
    expect(window.freedAt(1)).toBe(START + 61);
    addAt(START + 5, 1);
    window.slideTo(START + 15);
    expect(window.freedAt(2)).toBe(START + 15 + 61);
  });
});

describe('giving back', () => {
  let window: SlidingWindow;
  beforeEach(() => {
    window = new SlidingWindow();
    window.slideTo(START);
    window.add(3);
    window.slideTo(START + 10);
    window.add(2);
  });

  it('restores exactly what the second holds', () => {
    window.giveBack(START, 1);
    expect(window.sum).toBe(4);
    window.slideTo(START + 61);
    expect(window.sum).toBe(2);
  });

  it('never takes more than the second holds, from it or from another', () => {
    window.giveBack(START, 100);
    expect(window.sum).toBe(2);
    window.giveBack(START, 1);
    window.giveBack(START + 5, 1);
    expect(window.sum).toBe(2);
  });

  it('changes nothing once the second has left the window, also where its slot is used again', () => {
    window.slideTo(START + 61);
    window.add(7);
    window.giveBack(START, 3);
    expect(window.sum).toBe(9);
  });

  it('changes nothing for a second that has not come yet', () => {
    window.giveBack(START + 61, 3);
    expect(window.sum).toBe(5);
  });

  it('leaves no trace of a second that was given back whole: the next one is the oldest', () => {
    window.giveBack(START, 3);
    expect(window.freedAt(1)).toBe(START + 10 + 61);
    expect(window.oldest).toBe(START + 10);
  });

  it('leaves an empty window when everything was given back', () => {
    window.giveBack(START, 3);
    window.giveBack(START + 10, 2);
    expect(window.sum).toBe(0);
    window.slideTo(START + 30);
    window.add(1);
    expect([window.sum, window.oldest]).toEqual([1, START + 30]);
  });
});
