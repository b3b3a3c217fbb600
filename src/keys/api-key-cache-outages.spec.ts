/** Cached keys while the bus or the database is unavailable, and afterwards. */
import { describe, expect, it } from '@jest/globals';
import { record, refusalOf, setUp } from '../../test/support/key-cache.js';
import { METRICS } from '../platform/metrics.js';
import { FRESH_WITHOUT_BUS_MS, LONGEST_STALE_MS } from './key-staleness.js';

describe('without the bus', () => {
  it('a key is checked again after ten seconds, and no sooner', async () => {
    const { clock, database, bus, cache, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    bus.since = null;
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    clock.nowMs += FRESH_WITHOUT_BUS_MS - 1;
    expect(cache.find('a')).toMatchObject({ record: { keyStatus: 'active' } });
    clock.nowMs += 1;
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
    expect(FRESH_WITHOUT_BUS_MS).toBe(10_000);
  });

  it('keys read before the bus came back are read again, because a message may be missing', async () => {
    const { clock, database, bus, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    clock.nowMs += FRESH_WITHOUT_BUS_MS;
    bus.since = clock.nowMs;
    await find('a');
    expect(database.queries).toHaveLength(2);
    clock.nowMs += FRESH_WITHOUT_BUS_MS;
    await find('a');
    expect(database.queries).toHaveLength(2);
  });

  it('no key is trusted after the clock was set back', async () => {
    const { clock, database, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    clock.nowMs -= 1;
    await find('a');
    expect(database.queries).toHaveLength(2);
  });

  it('a key is checked again after five minutes even with the bus', async () => {
    const { clock, database, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    clock.nowMs += 299_999;
    await find('a');
    expect(database.queries).toHaveLength(1);
    clock.nowMs += 1;
    await find('a');
    expect(database.queries).toHaveLength(2);
  });
});

describe('without the database', () => {
  it('a cached key is accepted, and other keys get 503 instead of 401', async () => {
    const { clock, database, bus, cache, find } = setUp();
    database.rows.set('a', record('a'));
    const known = await find('a');
    database.down = true;
    bus.since = null;
    clock.nowMs += FRESH_WITHOUT_BUS_MS;
    const stale = METRICS.keyStaleUses.series().value;
    expect(await find('a')).toBe(known);
    const problem = await refusalOf(cache.find('b'));
    expect([problem.code, problem.status, problem.options.headers]).toEqual([
      'authentication_unavailable',
      503,
      ['Retry-After', expect.stringMatching(/^[1-3]$/), 'X-Should-Retry', 'true'],
    ]);
    expect(METRICS.keyStaleUses.series().value).toBe(stale + 1);
    expect(problem.options.detail).not.toContain('the database is away');
  });

  it('only the first request waits for the recheck', async () => {
    const { clock, database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    database.down = true;
    clock.nowMs += 300_000;
    await find('a');
    const asked = database.queries.length;
    expect(cache.find('a')).toMatchObject({ record: { hash: 'a' } });
    expect(database.queries.length).toBe(asked + 1);
  });

  it('failed lookups are not cached', async () => {
    const { database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    database.down = true;
    await refusalOf(cache.find('a'));
    database.down = false;
    expect((await find('a'))?.record.hash).toBe('a');
  });

  it('a change made meanwhile applies once it is back', async () => {
    const { clock, database, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    database.down = true;
    clock.nowMs += 300_000;
    await find('a');
    database.down = false;
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    await find('a'); // starts a recheck in the background
    await new Promise((done) => setImmediate(done));
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });

  it('a cached key is accepted for an hour at most', async () => {
    const { clock, database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    database.down = true;
    clock.nowMs += LONGEST_STALE_MS - 1;
    expect((await find('a'))?.record.hash).toBe('a');
    clock.nowMs += 1;
    expect((await refusalOf(cache.find('a'))).code).toBe('authentication_unavailable');
    expect(LONGEST_STALE_MS).toBe(3_600_000);
  });

  it('pending lookups are limited, and further requests are refused immediately', async () => {
    const { database, cache } = setUp();
    const gate = Promise.withResolvers<void>();
    database.gate = gate.promise;
    const waiting = Array.from({ length: 10_000 }, (_, index) => cache.find(`w${index}`));
    const startedMs = performance.now();
    expect((await refusalOf(cache.find('one more'))).code).toBe('authentication_unavailable');
    expect(performance.now() - startedMs).toBeLessThan(1_000);
    gate.resolve();
    expect(await Promise.all(waiting)).toEqual(Array(10_000).fill(undefined));
    expect(database.queries.every((hashes) => hashes.length <= 100)).toBe(true);
  });
});
