/** Which address a call goes to, when one is taken out, and how it comes back. Time is handed in. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { configSchema } from '../../config/model/schema.js';
import { Balancer, verdictOf, type EjectionSettings } from './balancer.js';
import { Endpoint } from './endpoint.js';
import { TargetSeries } from './upstream-metrics.js';

const { services } = configSchema.parse({
  services: { s: { targets: ['http://127.0.0.1:9'], connections: 4 } },
  plans: {},
});
const config = services['s'];
const EJECTION: EjectionSettings = { failures: 3, duration: 10_000, longest: 25_000 };

let endpoints: Endpoint[];
let balancer: Balancer;
let changes: string[];
let nowMs: number;

const GET = { isRepeatable: true };
const POST = { isRepeatable: false };

function make(count: number, ejection?: EjectionSettings): void {
  if (config === undefined) throw new Error('no service');
  endpoints = Array.from(
    { length: count },
    (_, index) =>
      new Endpoint(`t${index}`, new TargetSeries('s', `t${index}`), 'http://127.0.0.1:9', '', undefined, config),
  );
  changes = [];
  balancer = new Balancer(ejection, ({ target, state }) => changes.push(`${target} ${state}`));
  balancer.use(endpoints);
}

const at = (index: number): Endpoint => {
  const endpoint = endpoints[index];
  if (endpoint === undefined) throw new Error('no such endpoint');
  return endpoint;
};

function fail(index: number, times: number): void {
  for (let time = 0; time < times; time++) {
    nowMs += 100;
    balancer.judge(at(index), {}, 'bad', nowMs);
  }
}

/** Lets a call through to an address whose rest is over, in vain. */
function failProbe(index: number): void {
  nowMs = at(index).ejectedUntilMs;
  const probe = { ...GET };
  expect(balancer.pick(probe, nowMs)).toBe(at(index));
  balancer.judge(at(index), probe, 'bad', nowMs);
}

beforeEach(() => void (nowMs = 1_000_000));
afterEach(async () => {
  for (const { pool } of endpoints) await pool.destroy();
});

describe('the choice', () => {
  it('of two is the less busy one', () => {
    make(2);
    at(0).inFlight = 3;
    for (let index = 0; index < 20; index++) expect(balancer.pick(GET, nowMs)).toBe(at(1));
  });

  it('of two that are as busy is even', () => {
    make(2);
    const first = Array.from({ length: 400 }, () => balancer.pick(GET, nowMs)).filter((chosen) => chosen === at(0));
    expect(first.length).toBeGreaterThan(120);
    expect(first.length).toBeLessThan(280);
  });

  it('of many is never the busiest, and any other at times', () => {
    make(5);
    at(2).inFlight = 3;
    const chosen = new Set(Array.from({ length: 400 }, () => balancer.pick(GET, nowMs)));
    expect(chosen).toEqual(new Set([at(0), at(1), at(3), at(4)]));
  });

  it('is the one with a free connection, and nothing when there is none', () => {
    make(3);
    for (const endpoint of endpoints) endpoint.inFlight = 4;
    expect(balancer.pick(GET, nowMs)).toBeUndefined();
    at(1).inFlight = 3;
    for (let index = 0; index < 20; index++) expect(balancer.pick(GET, nowMs)).toBe(at(1));
  });

  it('after a failure is another one', () => {
    make(2);
    expect(balancer.pickOther(at(0))).toBe(at(1));
    make(1);
    expect(balancer.pickOther(at(0))).toBeUndefined();
  });
});

describe('failures in a row', () => {
  it('take an address out, a success in between does not let them add up', () => {
    make(2, EJECTION);
    fail(0, 2);
    balancer.judge(at(0), {}, 'good', nowMs);
    fail(0, 2);
    expect(changes).toEqual([]);
    fail(0, 1);
    expect(changes).toEqual(['t0 ejected']);
    expect(balancer.available).toEqual([at(1)]);
  });

  it('what says nothing of the target changes nothing', () => {
    make(2, EJECTION);
    fail(0, 2);
    balancer.judge(at(0), {}, 'none', nowMs);
    fail(0, 1);
    expect(changes).toEqual(['t0 ejected']);
  });

  it('do not take out a single address, unless ejection is configured', () => {
    make(1);
    fail(0, 50);
    expect(balancer.available).toEqual([at(0)]);
    make(1, EJECTION);
    fail(0, 3);
    expect(balancer.available).toEqual([]);
  });

  it('of one and the same moment take out every address but the last', () => {
    make(2, EJECTION);
    for (const index of [0, 1]) {
      for (let time = 0; time < 50; time++) balancer.judge(at(index), {}, 'bad', nowMs);
    }
    expect(changes).toEqual(['t0 ejected']);
    fail(1, 2);
    expect(changes).toEqual(['t0 ejected', 't1 ejected']);
  });

  it('take nobody out where the configuration says 0', () => {
    make(2, { ...EJECTION, failures: 0 });
    fail(0, 100);
    expect(changes).toEqual([]);
  });
});

describe('an address that was taken out', () => {
  it('gets one call when its time is over; it is back when that succeeds', () => {
    make(2, EJECTION);
    fail(0, 3);
    nowMs += 9_999;
    expect(balancer.pick(GET, nowMs)).toBe(at(1));
    nowMs += 1;
    const probe = { ...GET };
    expect(balancer.pick(probe, nowMs)).toBe(at(0));
    for (let index = 0; index < 20; index++) expect(balancer.pick({ ...GET }, nowMs)).toBe(at(1));
    balancer.judge(at(0), probe, 'good', nowMs);
    expect(changes).toEqual(['t0 ejected', 't0 healthy']);
    expect(balancer.available).toEqual(endpoints);
  });

  it.each([
    [1, 20_000],
    [2, 40_000],
    [3, 80_000],
    [4, 90_000],
    [50, 90_000],
  ])('rests twice as long after each probe that fails, after %i of them %i ms, up to the longest', (probes, restMs) => {
    make(2, { ...EJECTION, longest: 90_000 });
    fail(0, 3);
    for (let index = 0; index < probes; index++) failProbe(0);
    expect(at(0).ejectedUntilMs - nowMs).toBe(restMs);
    expect(changes).toEqual(['t0 ejected']);
  });

  it('rests as at first once it has been well for as long as the longest rest, and longer before', () => {
    make(2, EJECTION);
    fail(0, 3);
    failProbe(0);
    const comeBack = (): void => {
      nowMs = at(0).ejectedUntilMs;
      const probe = { ...GET };
      expect(balancer.pick(probe, nowMs)).toBe(at(0));
      balancer.judge(at(0), probe, 'good', nowMs);
    };
    comeBack();
    nowMs += 20_000;
    fail(0, 3);
    expect(at(0).ejectedUntilMs - nowMs).toBe(25_000);
    comeBack();
    nowMs += 30_000;
    fail(0, 3);
    expect(at(0).ejectedUntilMs - nowMs).toBe(10_000);
  });

  it('is not tried while no other has a free connection that the call could go to afterwards', () => {
    make(2, EJECTION);
    fail(0, 3);
    at(1).inFlight = 4;
    nowMs += 10_000;
    expect(balancer.pick(GET, nowMs)).toBeUndefined();
    at(1).inFlight = 3;
    expect(balancer.pick(GET, nowMs)).toBe(at(0));
  });

  it('is not tried with a call that could not go elsewhere, unless no other comes for long', () => {
    make(2, EJECTION);
    fail(0, 3);
    nowMs += 10_000;
    expect(balancer.pick(POST, nowMs)).toBe(at(1));
    nowMs += 10_000;
    expect(balancer.pick(POST, nowMs)).toBe(at(0));
  });

  it('stays out when a call from before succeeds, and its probe may be repeated when its client left', () => {
    make(2, EJECTION);
    fail(0, 3);
    balancer.judge(at(0), {}, 'good', nowMs);
    expect(balancer.available).toEqual([at(1)]);
    nowMs += 10_000;
    const probe = { ...GET };
    balancer.pick(probe, nowMs);
    balancer.judge(at(0), probe, 'none', nowMs);
    expect(balancer.pick({ ...GET }, nowMs)).toBe(at(0));
  });

  it('is not tried while its health check fails, and rests to the end while that passes as it always did', () => {
    make(2, EJECTION);
    fail(0, 3);
    balancer.check(at(0), false, nowMs);
    nowMs += 60_000;
    expect(balancer.pick(GET, nowMs)).toBe(at(1));
    make(2, EJECTION);
    fail(0, 3);
    for (let checks = 0; checks < 9; checks++) {
      nowMs += 1_000;
      balancer.check(at(0), true, nowMs);
      expect(balancer.pick(GET, nowMs)).toBe(at(1));
    }
  });

  it('is back only when its health check passes and a call succeeds', () => {
    make(2, EJECTION);
    fail(0, 3);
    nowMs += 10_000;
    const probe = { ...GET };
    expect(balancer.pick(probe, nowMs)).toBe(at(0));
    balancer.check(at(0), false, nowMs);
    balancer.judge(at(0), probe, 'good', nowMs);
    expect(balancer.available).toEqual([at(1)]);
    balancer.check(at(0), true, nowMs);
    expect(balancer.available).toEqual(endpoints);
  });

  it('is tried at once when its health check failed and passes again, but only the first time', () => {
    make(2, EJECTION);
    fail(0, 3);
    const flap = (): void => {
      balancer.check(at(0), false, nowMs);
      nowMs += 1_000;
      balancer.check(at(0), true, nowMs);
    };
    flap();
    const probe = { ...GET };
    expect(balancer.pick(probe, nowMs)).toBe(at(0));
    balancer.judge(at(0), probe, 'bad', nowMs);
    expect(at(0).ejectedUntilMs - nowMs).toBe(20_000);
    flap();
    expect(balancer.pick(GET, nowMs)).toBe(at(1));
  });
});

describe('when nothing is left', () => {
  it('one call is let through to each after a second, whatever its method; a success brings it back', () => {
    make(2, EJECTION);
    fail(0, 3);
    fail(1, 3);
    expect(balancer.available).toEqual([]);
    expect(balancer.pick(POST, nowMs)).toBeUndefined();
    nowMs += 1_000;
    const probe = { ...POST };
    expect(balancer.pick({ ...POST }, nowMs)).toBe(at(0));
    expect(balancer.pick(probe, nowMs)).toBe(at(1));
    expect(balancer.pick(POST, nowMs)).toBeUndefined();
    balancer.judge(at(1), probe, 'good', nowMs);
    expect(balancer.available).toEqual([at(1)]);
  });

  it('calls are let through ever more rarely, up to a bound, and the rest of an address is no longer for it', () => {
    make(1, { ...EJECTION, duration: 60_000, longest: 300_000 });
    fail(0, 3);
    const untilMs = at(0).ejectedUntilMs;
    for (const pauseMs of [1_000, 2_000, 4_000, 4_000, 4_000]) {
      expect(balancer.pick(GET, nowMs + pauseMs - 1)).toBeUndefined();
      expect(balancer.retryAfterMs(nowMs)).toBe(pauseMs);
      nowMs += pauseMs;
      const probe = { ...GET };
      expect(balancer.pick(probe, nowMs)).toBe(at(0));
      expect(balancer.retryAfterMs(nowMs)).toBe(0);
      balancer.judge(at(0), probe, 'bad', nowMs);
    }
    expect(at(0).ejectedUntilMs).toBe(untilMs);
  });

  it('because of health checks, a call has a chance when the first of them can pass', () => {
    make(2, EJECTION);
    for (const endpoint of endpoints) balancer.check(endpoint, false, nowMs);
    at(0).checksPassFromMs = nowMs + 9_000;
    at(1).checksPassFromMs = nowMs + 7_000;
    expect(balancer.retryAfterMs(nowMs)).toBe(7_000);
  });

  it('because of health checks, no call is let through', () => {
    make(2, EJECTION);
    for (const endpoint of endpoints) balancer.check(endpoint, false, nowMs);
    nowMs += 3_600_000;
    expect(balancer.pick(GET, nowMs)).toBeUndefined();
    expect(changes).toEqual(['t0 unhealthy', 't1 unhealthy']);
  });
});

it.each([
  ['answered', 200, 'good'],
  ['answered', 404, 'good'],
  ['answered', 500, 'good'],
  ['answered', 501, 'good'],
  ['answered', 502, 'bad'],
  ['answered', 503, 'bad'],
  ['answered', 504, 'bad'],
  ['unreachable', 0, 'bad'],
  ['connect_timeout', 0, 'bad'],
  ['first_byte_timeout', 0, 'bad'],
  ['idle_timeout', 200, 'bad'],
  ['reset', 0, 'bad'],
  ['bad_response', 0, 'bad'],
  ['body_broken_off', 200, 'bad'],
  ['moved', 0, 'none'],
  ['client_gone', 0, 'none'],
  ['client_too_slow', 200, 'none'],
  ['request_too_large', 0, 'none'],
  ['out_of_resources', 0, 'none'],
  ['out_of_ports', 0, 'none'],
] as const)('%s with %i says of the target: %s', (outcome, status, verdict) => {
  expect(verdictOf(outcome, status)).toBe(verdict);
});
