import { describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from './database/connect.js';
import type { TargetStatus } from './proxy/target-status.js';
import { readiness } from './readiness.js';
import type { WorkerState } from './workers/messages.js';
import type { PoolState, WorkerPool } from './workers/worker-pool.js';

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
});
const OWN: WorkerState = { targets: [], quotaStoreLostSinceMs: null };
const DATABASE = { healthy: async () => true } as DatabaseHandle;

const checksOf = async (states: readonly WorkerState[], over: Partial<PoolState> = {}) => {
  const pool = {
    state: async (): Promise<PoolState> => ({ ready: states.length, count: states.length, silent: 0, states, ...over }),
  };
  return readiness({ status: 'pass' }, DATABASE, OWN, pool as WorkerPool, true);
};

describe('readiness with workers', () => {
  it('passes where all of them are well', async () => {
    const { ready, checks } = await checksOf([sees('healthy'), sees('healthy')]);
    expect(ready).toBe(true);
    expect(Object.values(checks).map(({ status }) => status)).toEqual(['pass', 'pass', 'pass', 'pass', 'pass']);
  });

  it('shows one that is cut off from Redis or from a service while the others are not', async () => {
    const { ready, checks } = await checksOf([sees('healthy'), sees('ejected', 5_000), sees('healthy')]);
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

  it('says plainly what is away everywhere', async () => {
    const { checks } = await checksOf([sees('unhealthy'), sees('ejected')]);
    expect(checks['backends']?.detail).toBe('no target is in service: orders');
  });

  it('shows workers that do not answer, and is not ready without any', async () => {
    const silent = await checksOf([sees('healthy'), sees('healthy')], { silent: 1 });
    expect(silent.ready).toBe(true);
    expect(silent.checks['workers']).toEqual({
      status: 'warn',
      detail: '2 of 2 worker processes accept connections, 1 of them did not answer in time',
    });
    const none = await checksOf([], { count: 2 });
    expect([none.ready, none.checks['workers']?.status]).toEqual([false, 'fail']);
  });
});
