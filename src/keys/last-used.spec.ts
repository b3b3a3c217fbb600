import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { pino } from 'pino';
import type { CachedKey } from './cached-key.js';
import { LastUsed, type SecretUse } from './last-used.js';

const log = pino({ level: 'silent' });
const NOW_MS = 1_800_000_000_000;

function key(keyId: string): CachedKey {
  return { record: { keyId, hash: `hash of ${keyId}` }, useNotedAtMs: 0 } as unknown as CachedKey;
}

/** Records its batches. Rejects while `down` is set. */
function sink() {
  const batches: (readonly (readonly [string, number])[])[] = [];
  return {
    batches,
    down: false,
    async touchLastUsed(batch: readonly SecretUse[]): Promise<void> {
      if (this.down) throw new Error('the database is away');
      batches.push(batch.map(({ keyId, usedAtMs }) => [keyId, usedAtMs]));
    },
  };
}

describe('last uses', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('are written in one batch every ten seconds, once per key, if there are any', async () => {
    const out = sink();
    const lastUsed = new LastUsed(out, log);
    lastUsed.start();
    const [a, b] = [key('a'), key('b')];
    for (let second = 0; second < 5; second++) {
      lastUsed.record(a, NOW_MS + second * 1_000, '192.0.2.1');
      lastUsed.record(b, NOW_MS + second * 1_000, '192.0.2.1');
    }
    await jest.advanceTimersByTimeAsync(9_999);
    expect(out.batches).toEqual([]);
    await jest.advanceTimersByTimeAsync(20_001);
    expect(out.batches).toEqual([
      [
        ['a', NOW_MS],
        ['b', NOW_MS],
      ],
    ]);
    await lastUsed.stop();
  });

  it('are recorded once a minute for a key in regular use', async () => {
    const out = sink();
    const lastUsed = new LastUsed(out, log);
    const steady = key('a');
    for (let second = 0; second <= 120; second++) lastUsed.record(steady, NOW_MS + second * 1_000, '192.0.2.1');
    await lastUsed.stop();
    expect(out.batches).toEqual([[['a', NOW_MS + 120_000]]]);
  });

  it('are kept while the database is unavailable, and the latest one wins', async () => {
    const out = sink();
    const lastUsed = new LastUsed(out, log);
    lastUsed.start();
    const [a, b] = [key('a'), key('b')];
    lastUsed.record(a, NOW_MS, '192.0.2.1');
    lastUsed.record(b, NOW_MS, '192.0.2.1');
    out.down = true;
    await jest.advanceTimersByTimeAsync(10_000);
    lastUsed.record(a, NOW_MS + 60_000, '192.0.2.1');
    out.down = false;
    await jest.advanceTimersByTimeAsync(10_000);
    expect(new Map(out.batches.flat())).toEqual(
      new Map([
        ['a', NOW_MS + 60_000],
        ['b', NOW_MS],
      ]),
    );
    await lastUsed.stop();
  });

  it('are written on shutdown, which does not fail if the database is unavailable', async () => {
    const out = sink();
    const lastUsed = new LastUsed(out, log);
    lastUsed.start();
    lastUsed.record(key('a'), NOW_MS, '192.0.2.1');
    out.down = true;
    await lastUsed.stop();
    out.down = false;
    await lastUsed.stop();
    expect(out.batches).toEqual([[['a', NOW_MS]]]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(out.batches).toHaveLength(1);
  });

  it('are recorded again if the clock goes back', async () => {
    const out = sink();
    const lastUsed = new LastUsed(out, log);
    const one = key('a');
    lastUsed.record(one, NOW_MS, '192.0.2.1');
    lastUsed.record(one, NOW_MS - 5_000, '192.0.2.1');
    await lastUsed.stop();
    expect(out.batches).toEqual([[['a', NOW_MS - 5_000]]]);
  });

  it('are written in batches over five seconds if there are many', async () => {
    const out = sink();
    const lastUsed = new LastUsed(out, log);
    lastUsed.start();
    for (let index = 0; index < 1_000; index++) lastUsed.record(key(`k${index}`), NOW_MS, '192.0.2.1');
    await jest.advanceTimersByTimeAsync(10_000);
    expect(out.batches).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(2_500);
    expect(out.batches).toHaveLength(6);
    await lastUsed.stop();
    expect(out.batches.flat()).toHaveLength(1_000);
    expect(new Map(out.batches.flat()).size).toBe(1_000);
  });

  it('are limited in number while they are not written', async () => {
    const out = sink();
    const lastUsed = new LastUsed(out, log);
    for (let index = 0; index < 100_001; index++) lastUsed.record(key(`k${index}`), NOW_MS, '192.0.2.1');
    await lastUsed.stop();
    expect(out.batches.flat()).toHaveLength(100_000);
  });
});
