/** Recovery of ejected addresses, and probes while none is left. Time is a parameter. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Balanced, EJECTION, GET, POST } from '../../../test/support/balanced.js';

let line: Balanced;
beforeEach(() => void (line = new Balanced()));
afterEach(() => line.stop());

describe('an ejected address', () => {
  it('gets one call when its ejection ends, and is back if that succeeds', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.nowMs += 9_999;
    expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBe(line.at(1));
    line.nowMs += 1;
    const probe = { ...GET };
    expect(line.balancer.pickEndpoint(probe, line.nowMs)).toBe(line.at(0));
    for (let index = 0; index < 20; index++)
      expect(line.balancer.pickEndpoint({ ...GET }, line.nowMs)).toBe(line.at(1));
    line.balancer.recordVerdict(line.at(0), probe, 'good', line.nowMs);
    expect(line.changes).toEqual(['t0 ejected', 't0 healthy']);
    expect(line.balancer.available).toEqual(line.endpoints);
  });

  it.each([
    [1, 20_000],
    [2, 40_000],
    [3, 80_000],
    [4, 90_000],
    [50, 90_000],
  ])('doubles its ejection after each failed probe, after %i of them to %i ms, up to the longest', (probes, restMs) => {
    line.make(2, { ...EJECTION, longest: 90_000 });
    line.fail(0, 3);
    for (let index = 0; index < probes; index++) line.failProbe(0);
    expect(line.at(0).ejectedUntilMs - line.nowMs).toBe(restMs);
    expect(line.changes).toEqual(['t0 ejected']);
  });

  it('starts again with the shortest ejection only after it was healthy for the longest one', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.failProbe(0);
    const comeBack = (): void => {
      line.nowMs = line.at(0).ejectedUntilMs;
      const probe = { ...GET };
      expect(line.balancer.pickEndpoint(probe, line.nowMs)).toBe(line.at(0));
      line.balancer.recordVerdict(line.at(0), probe, 'good', line.nowMs);
    };
    comeBack();
    line.nowMs += 20_000;
    line.fail(0, 3);
    expect(line.at(0).ejectedUntilMs - line.nowMs).toBe(25_000);
    comeBack();
    line.nowMs += 30_000;
    line.fail(0, 3);
    expect(line.at(0).ejectedUntilMs - line.nowMs).toBe(10_000);
  });

  it('is not probed while no other address has a free connection for a retry', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.at(1).inFlight = 4;
    line.nowMs += 10_000;
    expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBeUndefined();
    line.at(1).inFlight = 3;
    expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBe(line.at(0));
  });

  it('is not probed with a call that cannot be retried, unless no other call comes for long', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.nowMs += 10_000;
    expect(line.balancer.pickEndpoint(POST, line.nowMs)).toBe(line.at(1));
    line.nowMs += 10_000;
    expect(line.balancer.pickEndpoint(POST, line.nowMs)).toBe(line.at(0));
  });

  it('stays ejected if an earlier call succeeds, and is probed again if a probe gave no verdict', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.balancer.recordVerdict(line.at(0), {}, 'good', line.nowMs);
    expect(line.balancer.available).toEqual([line.at(1)]);
    line.nowMs += 10_000;
    const probe = { ...GET };
    line.balancer.pickEndpoint(probe, line.nowMs);
    line.balancer.recordVerdict(line.at(0), probe, 'none', line.nowMs);
    expect(line.balancer.pickEndpoint({ ...GET }, line.nowMs)).toBe(line.at(0));
  });

  it('is not probed while its health check fails, nor early because its check kept passing', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.balancer.recordCheck(line.at(0), false, line.nowMs);
    line.nowMs += 60_000;
    expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBe(line.at(1));
    line.make(2, EJECTION);
    line.fail(0, 3);
    for (let checks = 0; checks < 9; checks++) {
      line.nowMs += 1_000;
      line.balancer.recordCheck(line.at(0), true, line.nowMs);
      expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBe(line.at(1));
    }
  });

  it('is back only when its health check passes and a call succeeds', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.nowMs += 10_000;
    const probe = { ...GET };
    expect(line.balancer.pickEndpoint(probe, line.nowMs)).toBe(line.at(0));
    line.balancer.recordCheck(line.at(0), false, line.nowMs);
    line.balancer.recordVerdict(line.at(0), probe, 'good', line.nowMs);
    expect(line.balancer.available).toEqual([line.at(1)]);
    line.balancer.recordCheck(line.at(0), true, line.nowMs);
    expect(line.balancer.available).toEqual(line.endpoints);
  });

  it('is probed at once when its failed health check passes again, but only the first time', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    const flap = (): void => {
      line.balancer.recordCheck(line.at(0), false, line.nowMs);
      line.nowMs += 1_000;
      line.balancer.recordCheck(line.at(0), true, line.nowMs);
    };
    flap();
    const probe = { ...GET };
    expect(line.balancer.pickEndpoint(probe, line.nowMs)).toBe(line.at(0));
    line.balancer.recordVerdict(line.at(0), probe, 'bad', line.nowMs);
    expect(line.at(0).ejectedUntilMs - line.nowMs).toBe(20_000);
    flap();
    expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBe(line.at(1));
  });
});

describe('when no address is available', () => {
  it('each gets one call after a second, whatever its method, and is back after a success', () => {
    line.make(2, EJECTION);
    line.fail(0, 3);
    line.fail(1, 3);
    expect(line.balancer.available).toEqual([]);
    expect(line.balancer.pickEndpoint(POST, line.nowMs)).toBeUndefined();
    line.nowMs += 1_000;
    const probe = { ...POST };
    expect(line.balancer.pickEndpoint({ ...POST }, line.nowMs)).toBe(line.at(0));
    expect(line.balancer.pickEndpoint(probe, line.nowMs)).toBe(line.at(1));
    expect(line.balancer.pickEndpoint(POST, line.nowMs)).toBeUndefined();
    line.balancer.recordVerdict(line.at(1), probe, 'good', line.nowMs);
    expect(line.balancer.available).toEqual([line.at(1)]);
  });

  it('probes become rarer up to a limit, and do not extend the ejection', () => {
    line.make(1, { ...EJECTION, duration: 60_000, longest: 300_000 });
    line.fail(0, 3);
    const untilMs = line.at(0).ejectedUntilMs;
    for (const pauseMs of [1_000, 2_000, 4_000, 4_000, 4_000]) {
      expect(line.balancer.pickEndpoint(GET, line.nowMs + pauseMs - 1)).toBeUndefined();
      expect(line.balancer.retryAfterMs(line.nowMs)).toBe(pauseMs);
      line.nowMs += pauseMs;
      const probe = { ...GET };
      expect(line.balancer.pickEndpoint(probe, line.nowMs)).toBe(line.at(0));
      expect(line.balancer.retryAfterMs(line.nowMs)).toBe(0);
      line.balancer.recordVerdict(line.at(0), probe, 'bad', line.nowMs);
    }
    expect(line.at(0).ejectedUntilMs).toBe(untilMs);
  });

  it('because of health checks, retryAfterMs is the time until the first check can pass', () => {
    line.make(2, EJECTION);
    for (const endpoint of line.endpoints) line.balancer.recordCheck(endpoint, false, line.nowMs);
    line.at(0).checksPassFromMs = line.nowMs + 9_000;
    line.at(1).checksPassFromMs = line.nowMs + 7_000;
    expect(line.balancer.retryAfterMs(line.nowMs)).toBe(7_000);
  });

  it('because of health checks, no call is admitted', () => {
    line.make(2, EJECTION);
    for (const endpoint of line.endpoints) line.balancer.recordCheck(endpoint, false, line.nowMs);
    line.nowMs += 3_600_000;
    expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBeUndefined();
    expect(line.changes).toEqual(['t0 unhealthy', 't1 unhealthy']);
  });
});
