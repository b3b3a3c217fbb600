import { describe, expect, it } from '@jest/globals';
import { findLostServices, mergeTargets, type TargetStatus } from './target-status.js';

const row = (over: Partial<TargetStatus> = {}): TargetStatus => ({
  service: 'a',
  target: 'http://a:1',
  address: '10.0.0.1',
  state: 'healthy',
  inFlight: 1,
  ejectedUntilMs: null,
  lastFailure: null,
  ...over,
});

describe('the targets of several processes', () => {
  it('are merged to the worst state, all in-flight calls and the last failure', () => {
    const failure = (atMs: number) => ({ outcome: 'reset' as const, status: 0, atMs });
    const other = row({ address: '10.0.0.2' });
    const merged = mergeTargets([
      [row({ lastFailure: failure(5) }), other],
      [row({ state: 'ejected', ejectedUntilMs: 70, lastFailure: failure(9), inFlight: 4 })],
      [row({ lastFailure: failure(7) }), other],
    ]);
    expect(merged).toEqual([
      {
        ...row({ state: 'ejected', inFlight: 6, ejectedUntilMs: 70, lastFailure: failure(9) }),
        processes: { healthy: 2, failing: 0, ejected: 1, unhealthy: 0 },
      },
      { ...other, inFlight: 2, processes: { healthy: 2, failing: 0, ejected: 0, unhealthy: 0 } },
    ]);
    expect(mergeTargets([[row({ state: 'unhealthy' })], [row({ state: 'ejected' })]])[0]?.state).toBe('unhealthy');
    expect(mergeTargets([])).toEqual([]);
  });

  it('are reported as lost or failing for a service without a healthy one', () => {
    const rows = [
      row({ state: 'ejected' }),
      row({ state: 'unhealthy' }),
      row({ service: 'b' }),
      row({ service: 'b', state: 'ejected' }),
      row({ service: 'c', state: 'failing' }),
      row({ service: 'c', state: 'ejected' }),
    ];
    expect(findLostServices(rows)).toEqual({ withoutTarget: ['a'], failing: ['c'] });
  });
});
