import { describe, expect, it } from '@jest/globals';
import type { DatabaseState } from '../stores/database/database-health.js';
import type { KnownNodeStatus } from '../nodes/node-status.js';
import type { TargetStatus } from '../proxy/targets/target-status.js';
import { readiness, type Known } from './readiness.js';
import type { WorkerState } from './workers/messages.js';
import type { PoolState } from './workers/worker-pool.js';

const target = (state: TargetStatus['state']): TargetStatus => ({
  service: 'orders',
  target: 'http://a',
  address: null,
  state,
  inFlight: 0,
  ejectedUntilMs: null,
  lastFailure: null,
});
const sees = (state: TargetStatus['state'], lostSinceMs: number | null = null): WorkerState => ({
  targets: [target(state)],
  quotaStoreLostSinceMs: lostSinceMs,
  logLoss: null,
});
const OWN: WorkerState = { targets: [], quotaStoreLostSinceMs: null, logLoss: null };
const UP: DatabaseState = { kind: 'up' };

const KNOWN: Known = {
  life: { status: 'pass' },
  database: UP,
  own: OWN,
  workers: undefined,
  forwards: false,
  gateways: undefined,
};
const checksOf = (states: readonly WorkerState[], over: Partial<PoolState> = {}) =>
  readiness({
    ...KNOWN,
    workers: { ready: states.length, count: states.length, silent: 0, states, ...over },
    forwards: true,
  });

describe('readiness with workers', () => {
  it('passes if all workers are healthy', () => {
    const { ready, checks } = checksOf([sees('healthy'), sees('healthy')]);
    expect(ready).toBe(true);
    expect(Object.values(checks).map(({ status }) => status)).toEqual(['pass', 'pass', 'pass', 'pass', 'pass', 'pass']);
  });

  it('shows a worker that has lost Redis or a service while others have not', () => {
    const { ready, checks } = checksOf([sees('healthy'), sees('ejected', 5_000), sees('healthy')]);
    expect(ready).toBe(true);
    expect(checks['quota_store']).toEqual({
      status: 'warn',
      detail: 'Redis is lost since 1970-01-01T00:00:05+00:00 in 1 of 4 processes: plans decide by onRedisLoss',
    });
    expect(checks['backends']).toEqual({
      status: 'warn',
      detail: 'no target is in service: orders (1 of 3 processes)',
    });
  });

  it('shows a worker whose log cannot be written', () => {
    const logLoss = { sinceMs: 5_000, cause: 'EPIPE', isForGood: true };
    const { ready, checks } = checksOf([sees('healthy'), { ...sees('healthy'), logLoss }]);
    expect(ready).toBe(true);
    expect(checks['log']).toEqual({
      status: 'warn',
      detail:
        'the log cannot be written since 1970-01-01T00:00:05+00:00 (EPIPE) in 1 of 3 processes: its lines are ' +
        'dropped and counted',
    });
  });

  it('names a service without a count if it is unavailable in all workers', () => {
    const { checks } = checksOf([sees('unhealthy'), sees('ejected')]);
    expect(checks['backends']?.detail).toBe('no target is in service: orders');
  });

  it('distinguishes services whose every call fails from those without a target', () => {
    const { checks } = checksOf([sees('failing'), sees('ejected')]);
    expect(checks['backends']).toEqual({
      status: 'warn',
      detail: 'no target is in service: orders (1 of 2 processes); every call fails: orders (1 of 2 processes)',
    });
  });

  it('shows workers that do not respond, and fails without any worker', () => {
    const silent = checksOf([sees('healthy'), sees('healthy')], { silent: 1 });
    expect(silent.ready).toBe(true);
    expect(silent.checks['workers']).toEqual({
      status: 'warn',
      detail: '2 of 2 worker processes accept connections, 1 of them does not respond',
    });
    const none = checksOf([], { count: 2 });
    expect([none.ready, none.checks['workers']?.status]).toEqual([false, 'fail']);
  });
});

describe('readiness of the database', () => {
  const check = (state: DatabaseState) => readiness({ ...KNOWN, database: state }).checks['database'];

  it('is a warning with the start and the effect of the outage', () => {
    expect(check({ kind: 'unreachable', sinceMs: 5_000, cause: 'no response' })).toEqual({
      status: 'warn',
      detail:
        'unreachable since 1970-01-01T00:00:05+00:00: requests with cached keys continue, unknown keys and the admin API get 503',
    });
    expect(check({ kind: 'unwritable', sinceMs: 5_000, cause: 'disk is full' })?.detail).toMatch(
      /^takes no writes since 1970-01-01T00:00:05\+00:00 \(disk is full\): /,
    );
  });
});

describe('readiness of a process without gateway', () => {
  const gateway = (node: string, states: WorkerState, ageMs = 1_000): KnownNodeStatus => ({
    ...states,
    node,
    version: null,
    processes: 1,
    targets: states.targets.map((row) => ({
      ...row,
      processes: { healthy: 0, failing: 0, ejected: 0, unhealthy: 0, [row.state]: 1 },
    })),
    targetsLeftOut: 0,
    ageMs,
  });
  const checks = (...gateways: KnownNodeStatus[]) => readiness({ ...KNOWN, gateways }).checks;

  it('passes if all gateways are healthy', () => {
    const all = checks(gateway('gw-1', sees('healthy')), gateway('gw-2', sees('healthy')));
    expect(all).toMatchObject({
      quota_store: { status: 'pass' },
      backends: { status: 'pass' },
      gateways: { status: 'pass' },
    });
  });

  it('shows what a gateway has lost, even if this process has not lost it', () => {
    expect(checks(gateway('gw-1', sees('ejected', 5_000)), gateway('gw-2', sees('healthy')))).toMatchObject({
      quota_store: { status: 'warn', detail: expect.stringMatching(/in 1 of 3 nodes: plans decide by onRedisLoss$/) },
      backends: { status: 'warn', detail: 'no target is in service: orders (1 of 2 nodes)' },
    });
  });

  it('says how many targets a gateway has left out', () => {
    const check = checks(gateway('gw-1', sees('healthy')), {
      ...gateway('gw-2', sees('healthy')),
      targetsLeftOut: 40,
    });
    expect(check['gateways']).toEqual({ status: 'pass', detail: expect.stringMatching(/too many: 40 of gw-2$/) });
  });

  it('shows a gateway that no longer reports, and warns if none does', () => {
    expect(checks(gateway('gw-1', sees('healthy'), 12_400), gateway('gw-2', sees('healthy')))['gateways']).toEqual({
      status: 'warn',
      detail: 'no status received from gw-1 (12 s)',
    });
    const none = checks();
    expect(none['gateways']).toEqual({
      status: 'warn',
      detail: 'no gateway has reported its status in the last minute',
    });
    expect(none).not.toHaveProperty('backends');
  });
});
