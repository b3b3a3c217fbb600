/** After a failure, the breaker blocks calls and allows single probes with growing pauses. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { TestClock } from '../../test/support/stores.js';
import { Breaker } from './breaker.js';

describe('a breaker', () => {
  let clock: TestClock;
  let breaker: Breaker;
  beforeEach(() => {
    clock = new TestClock();
    breaker = new Breaker(clock, 100, 2_000);
  });

  it('allows every call while the store responds', () => {
    expect([breaker.allows(), breaker.allows(), breaker.allows()]).toEqual([true, true, true]);
    expect(breaker.openSinceMs).toBeUndefined();
  });

  it('reports once that it opened, and since when', () => {
    expect(breaker.failed()).toBe(true);
    const since = clock.now();
    clock.advance(30);
    expect(breaker.failed()).toBe(false);
    expect(breaker.openSinceMs).toBe(since);
  });

  it('blocks calls during its pause, and then allows one probe at a time', () => {
    breaker.failed();
    expect(breaker.allows()).toBe(false);
    clock.advance(99);
    expect(breaker.allows()).toBe(false);
    clock.advance(1);
    expect([breaker.allows(), breaker.allows()]).toEqual([true, false]);
    clock.advance(60_000);
    expect(breaker.allows()).toBe(false);
  });

  it('reports the time until the next probe, and none while a probe is running', () => {
    expect(breaker.waitMs).toBe(0);
    breaker.failed();
    clock.advance(30);
    expect(breaker.waitMs).toBe(70);
    clock.advance(-60_000);
    expect(breaker.waitMs).toBe(0);
    clock.advance(60_070);
    expect([breaker.waitMs, breaker.allows(), breaker.waitMs]).toEqual([0, true, 0]);
  });

  it('doubles its pause with every failed probe, up to the longest', () => {
    const pauses: number[] = [];
    for (let failure = 0; failure < 7; failure++) {
      breaker.failed();
      let pause = 0;
      while (!breaker.allows()) {
        clock.advance(50);
        pause += 50;
      }
      pauses.push(pause);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });

  it('does not delay the next probe for failures of other calls', () => {
    breaker.failed();
    for (let call = 0; call < 10; call++) {
      clock.advance(10);
      breaker.failed();
    }
    expect(breaker.allows()).toBe(true);
  });

  it('closes with a success, reports it once, and restarts with the first pause', () => {
    breaker.failed();
    breaker.failed();
    expect(breaker.succeeded()).toBe(true);
    expect(breaker.succeeded()).toBe(false);
    expect([breaker.allows(), breaker.allows()]).toEqual([true, true]);
    expect(breaker.failed()).toBe(true);
    clock.advance(100);
    expect(breaker.allows()).toBe(true);
  });

  it('still probes after the clock was set back by an hour', () => {
    breaker.failed();
    clock.advance(-3_600_000);
    clock.advance(2_000);
    expect(breaker.allows()).toBe(true);
  });
});
