/** Deadlines of many calls with one timer. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Deadlines, type Expiring } from './deadlines.js';

let deadlines: Deadlines;

function call(inMs: number): Expiring & { expired: number } {
  const made = {
    deadlineMs: performance.now() + inMs,
    deadlineSlot: -1,
    expired: 0,
    expire(): void {
      made.expired++;
      made.deadlineMs = Infinity;
    },
  };
  deadlines.add(made);
  return made;
}

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  deadlines = new Deadlines();
});

afterEach(() => {
  deadlines.stop();
  jest.useRealTimers();
});

describe('a deadline', () => {
  it('expires once it has passed, no more than one sweep later, and not before', () => {
    const soon = call(1_000);
    jest.advanceTimersByTime(999);
    expect(soon.expired).toBe(0);
    jest.advanceTimersByTime(101);
    expect(soon.expired).toBe(1);
    jest.advanceTimersByTime(10_000);
    expect(soon.expired).toBe(1);
  });

  it('can be moved by an assignment, later and earlier', () => {
    const later = call(500);
    const earlier = call(5_000);
    later.deadlineMs = performance.now() + 2_000;
    earlier.deadlineMs = performance.now() + 300;
    jest.advanceTimersByTime(1_000);
    expect([later.expired, earlier.expired]).toEqual([0, 1]);
    jest.advanceTimersByTime(1_200);
    expect(later.expired).toBe(1);
  });

  it('of Infinity never expires', () => {
    const never = call(Infinity);
    jest.advanceTimersByTime(1_000_000);
    expect(never.expired).toBe(0);
  });

  it('that was removed does not expire', () => {
    const removed = call(100);
    deadlines.remove(removed);
    jest.advanceTimersByTime(1_000);
    expect(removed.expired).toBe(0);
  });

  it('may remove itself and others while it expires', () => {
    const other = call(100);
    const first: Expiring = {
      deadlineMs: 0,
      deadlineSlot: -1,
      expire() {
        deadlines.remove(first);
        deadlines.remove(other);
      },
    };
    deadlines.remove(other);
    deadlines.add(first);
    deadlines.add(other);
    jest.advanceTimersByTime(1_000);
    expect(other.expired).toBe(0);
  });
});

it('ten thousand calls need one timer', () => {
  const before = jest.getTimerCount();
  for (let index = 0; index < 10_000; index++) call(1_000);
  expect(jest.getTimerCount()).toBe(before);
});

it('nothing expires, and no timer is left, after the stop', () => {
  const made = call(100);
  deadlines.stop();
  jest.advanceTimersByTime(1_000);
  expect([made.expired, jest.getTimerCount()]).toEqual([0, 0]);
});
