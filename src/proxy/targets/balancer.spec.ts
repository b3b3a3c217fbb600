/** Selection and ejection of addresses. Time is a parameter. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Balanced, EJECTION, GET } from '../../../test/support/balanced.js';
import { verdictOf } from './balancer.js';

let line: Balanced;
beforeEach(() => void (line = new Balanced()));
afterEach(() => line.stop());

describe('the choice', () => {
  it('of two is the less busy one', () => {
    line.make(2);
    line.at(0).inFlight = 3;
    for (let index = 0; index < 20; index++) expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBe(line.at(1));
  });

  it('of two equally busy ones is even', () => {
    line.make(2);
    const first = Array.from({ length: 400 }, () => line.balancer.pickEndpoint(GET, line.nowMs)).filter(
      (chosen) => chosen === line.at(0),
    );
    expect(first.length).toBeGreaterThan(120);
    expect(first.length).toBeLessThan(280);
  });

  it('of many is never the busiest, and sometimes each of the others', () => {
    line.make(5);
    line.at(2).inFlight = 3;
    const chosen = new Set(Array.from({ length: 400 }, () => line.balancer.pickEndpoint(GET, line.nowMs)));
    expect(chosen).toEqual(new Set([line.at(0), line.at(1), line.at(3), line.at(4)]));
  });

  it('is the one with a free connection, and nothing when there is none', () => {
    line.make(3);
    for (const endpoint of line.endpoints) endpoint.inFlight = 4;
    expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBeUndefined();
    line.at(1).inFlight = 3;
    for (let index = 0; index < 20; index++) expect(line.balancer.pickEndpoint(GET, line.nowMs)).toBe(line.at(1));
  });

  it('after a failure is another one', () => {
    line.make(2);
    expect(line.balancer.pickOther(line.at(0))).toBe(line.at(1));
    line.make(1);
    expect(line.balancer.pickOther(line.at(0))).toBeUndefined();
  });
});

describe('a failure rate', () => {
  it('ejects an address whose calls fail more often than those of the others', () => {
    line.make(2, EJECTION);
    line.call(1, '.'.repeat(20));
    line.call(0, 'x...'.repeat(4));
    expect(line.changes).toEqual([]);
    line.call(0, '...x');
    expect(line.changes).toEqual(['t0 ejected']);
  });

  it('ejects none if the others fail as well', () => {
    line.make(2, EJECTION);
    for (let round = 0; round < 20; round++) for (const index of [0, 1]) line.call(index, '.x.');
    expect(line.changes).toEqual([]);
  });

  it('needs enough recent calls', () => {
    line.make(2, EJECTION);
    line.call(0, 'x.'.repeat(9));
    line.nowMs += 20_000;
    line.call(0, 'x.'.repeat(9));
    expect(line.changes).toEqual([]);
  });

  it('ejects none while the others have too few calls to compare with', () => {
    line.make(2, EJECTION);
    line.call(0, 'x.'.repeat(15));
    line.call(1, '.'.repeat(19));
    line.call(0, 'x');
    expect(line.changes).toEqual([]);
    line.call(1, '.');
    line.call(0, 'x');
    expect(line.changes).toEqual(['t0 ejected']);
  });

  it('leaves half of the addresses in service, and a single one always', () => {
    line.make(3, EJECTION);
    for (const index of [0, 1, 2]) line.call(index, '.'.repeat(20));
    for (const index of [0, 1]) line.call(index, 'xx.'.repeat(20));
    expect(line.changes).toEqual(['t0 ejected']);
    line.make(1, EJECTION);
    line.call(0, 'xx.'.repeat(20));
    expect(line.changes).toEqual([]);
  });

  it('is counted anew after readmission', () => {
    line.make(2, EJECTION);
    line.call(1, '.'.repeat(20));
    line.call(0, '.x'.repeat(10));
    expect(line.changes).toEqual(['t0 ejected']);
    line.at(0).readmit(line.nowMs);
    line.balancer.setEndpoints(line.endpoints);
    line.call(1, '.'.repeat(20));
    line.call(0, '.x'.repeat(9));
    expect(line.changes).toEqual(['t0 ejected']);
  });
});

describe('failures in a row', () => {
  it('eject an address, unless a success comes in between', () => {
    line.make(2, EJECTION);
    line.fail(0, 2);
    line.balancer.recordVerdict(line.at(0), {}, 'good', line.nowMs);
    line.fail(0, 2);
    expect(line.changes).toEqual([]);
    line.fail(0, 1);
    expect(line.changes).toEqual(['t0 ejected']);
    expect(line.balancer.available).toEqual([line.at(1)]);
  });

  it('are not interrupted by an outcome that says nothing about the target', () => {
    line.make(2, EJECTION);
    line.fail(0, 2);
    line.balancer.recordVerdict(line.at(0), {}, 'none', line.nowMs);
    line.fail(0, 1);
    expect(line.changes).toEqual(['t0 ejected']);
  });

  it('do not eject a single address, unless ejection is configured', () => {
    line.make(1);
    line.fail(0, 50);
    expect(line.balancer.available).toEqual([line.at(0)]);
    line.make(1, EJECTION);
    line.fail(0, 3);
    expect(line.balancer.available).toEqual([]);
  });

  it('at the same moment eject every address but the last', () => {
    line.make(2, EJECTION);
    for (const index of [0, 1]) {
      for (let time = 0; time < 50; time++) line.balancer.recordVerdict(line.at(index), {}, 'bad', line.nowMs);
    }
    expect(line.changes).toEqual(['t0 ejected']);
    line.fail(1, 2);
    expect(line.changes).toEqual(['t0 ejected', 't1 ejected']);
  });

  it('eject nothing if the configuration says 0', () => {
    line.make(2, { ...EJECTION, failures: 0 });
    line.fail(0, 100);
    expect(line.changes).toEqual([]);
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
] as const)('%s with status %i has the verdict %s', (outcome, status, verdict) => {
  expect(verdictOf(outcome, status)).toBe(verdict);
});
