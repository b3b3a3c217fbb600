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
    expect([breaker.allowsCall(), breaker.allowsCall(), breaker.allowsCall()]).toEqual([true, true, true]);
    expect(breaker.openSinceMs).toBeUndefined();
  });

  it('reports once that it opened, and since when', () => {
    expect(breaker.recordFailure()).toBe(true);
    const since = clock.now();
    clock.advance(30);
    expect(breaker.recordFailure()).toBe(false);
    expect(breaker.openSinceMs).toBe(since);
  });

  it('blocks calls during its pause, and then allows one probe at a time', () => {
    breaker.recordFailure();
    expect(breaker.allowsCall()).toBe(false);
    clock.advance(99);
    expect(breaker.allowsCall()).toBe(false);
    clock.advance(1);
    expect([breaker.allowsCall(), breaker.allowsCall()]).toEqual([true, false]);
    clock.advance(60_000);
    expect(breaker.allowsCall()).toBe(false);
  });

  it('reports the time until the next probe, and none while a probe is running', () => {
    expect(breaker.waitMs).toBe(0);
    breaker.recordFailure();
    clock.advance(30);
    expect(breaker.waitMs).toBe(70);
    clock.advance(-60_000);
    expect(breaker.waitMs).toBe(0);
    clock.advance(60_070);
    expect([breaker.waitMs, breaker.allowsCall(), breaker.waitMs]).toEqual([0, true, 0]);
  });

  it('doubles its pause with every failed probe, up to the longest', () => {
    const pauses: number[] = [];
    for (let failure = 0; failure < 7; failure++) {
      breaker.recordFailure();
      let pause = 0;
      while (!breaker.allowsCall()) {
        clock.advance(50);
        pause += 50;
      }
      pauses.push(pause);
    }
    expect(pauses).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000]);
  });

  it('does not delay the next probe for failures of other calls', () => {
    breaker.recordFailure();
    for (let call = 0; call < 10; call++) {
      clock.advance(10);
      breaker.recordFailure();
    }
    expect(breaker.allowsCall()).toBe(true);
  });

  it('closes with a success, reports it once, and restarts with the first pause', () => {
    breaker.recordFailure();
    breaker.recordFailure();
    expect(breaker.recordSuccess()).toBe(true);
    expect(breaker.recordSuccess()).toBe(false);
    expect([breaker.allowsCall(), breaker.allowsCall()]).toEqual([true, true]);
    expect(breaker.recordFailure()).toBe(true);
    clock.advance(100);
    expect(breaker.allowsCall()).toBe(true);
  });

  it('still probes after the clock was set back by an hour', () => {
    breaker.recordFailure();
    clock.advance(-3_600_000);
    clock.advance(2_000);
    expect(breaker.allowsCall()).toBe(true);
  });
});
