/** Cached keys: lookups, invalidation and the maximum size. */
import { describe, expect, it } from '@jest/globals';
import { countEntries, record, series, setUp } from '../../test/support/key-cache.js';
import { FRESH_WITHOUT_BUS_MS } from './key-staleness.js';

describe('a key in memory', () => {
  it('is returned synchronously without a lookup', async () => {
    const { database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    const first = await find('a');
    const [hits, misses] = [series('memory'), series('database')];
    expect(cache.find('a')).toBe(first);
    expect(first?.record.keyId).toBe('key_a');
    expect(database.queries).toHaveLength(1);
    expect([series('memory') - hits, series('database') - misses]).toEqual([1, 0]);
  });

  it('is looked up once by concurrent requests, and many keys share a query', async () => {
    const { database, find } = setUp();
    for (let index = 0; index < 250; index++) database.rows.set(`h${index}`, record(`h${index}`));
    const asked = [...database.rows.keys()].flatMap((hash) => [find(hash), find(hash)]);
    const found = await Promise.all(asked);
    expect(found.every((key, index) => key?.record.hash === `h${index >> 1}`)).toBe(true);
    expect(database.queries.flat()).toHaveLength(250);
    expect(database.queries.length).toBeLessThanOrEqual(6);
  });

  it('is removed when it changes, without other keys', async () => {
    const { database, bus, cache, find } = setUp();
    database.rows.set('a', record('a')).set('b', record('b'));
    await Promise.all([find('a'), find('b')]);
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    await bus.publish({ type: 'api_key', accountId: 'acc_1', keyId: 'key_a' });
    expect(cache.find('b')).toMatchObject({ record: { hash: 'b' } });
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });

  it('is removed with all keys of its account when the account changes', async () => {
    const { database, bus, cache, find } = setUp();
    database.rows
      .set('a', record('a'))
      .set('b', record('b'))
      .set('c', record('c', { accountId: 'acc_2' }));
    await Promise.all([find('a'), find('b'), find('c')]);
    database.rows.set('a', record('a', { accountStatus: 'suspended' })).set('b', record('b', { plan: 'gone' }));
    await bus.publish({ type: 'account', accountId: 'acc_1' });
    expect((await find('a'))?.record.accountStatus).toBe('suspended');
    expect((await find('b'))?.subject).toBeUndefined();
    expect(cache.find('c')).toMatchObject({ record: { hash: 'c' } });
    expect(database.queries.flat().filter((hash) => hash === 'c')).toHaveLength(1);
  });

  it('keeps its quota subject and counts over a recheck', async () => {
    const { clock, database, bus, find } = setUp();
    database.rows.set('a', record('a'));
    const before = await find('a');
    bus.since = null;
    clock.nowMs += FRESH_WITHOUT_BUS_MS;
    const after = await find('a');
    expect(after).not.toBe(before);
    expect(after?.subject).toBe(before?.subject);
  });
});

describe('keys in memory', () => {
  it('are limited in number: unused ones are evicted, and the others are invalidated', async () => {
    const { cache, database, bus } = setUp(10);
    for (let at = 0; at < 50; at++) database.rows.set(`k${at}`, record(`k${at}`, { accountId: `acc_${at % 3}` }));
    const asked = (): number => database.queries.flat().length;
    for (let at = 0; at < 50; at++) {
      await cache.find(`k${at}`);
      await cache.find('k0');
      await cache.find('k1');
    }
    expect(asked()).toBe(50);
    await cache.find('k20');
    expect(asked()).toBe(51);
    for (const at of [0, 1]) await bus.publish({ type: 'account', accountId: `acc_${at}` });
    await cache.find('k0');
    await cache.find('k1');
    expect(asked()).toBe(53);
  });
});

describe('a change during a lookup', () => {
  it('returns the new row, and does not cache the old one', async () => {
    const { database, bus, find } = setUp();
    database.rows.set('a', record('a'));
    const gate = Promise.withResolvers<void>();
    database.gate = gate.promise;
    const found = find('a');
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    await bus.publish({ type: 'api_key', accountId: 'acc_1', keyId: 'key_a' });
    gate.resolve();
    expect((await found)?.record.keyStatus).toBe('revoked');
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });

  it('returns a row that is not cached if changes do not stop', async () => {
    const { database, bus, find } = setUp();
    database.rows.set('a', record('a'));
    const plain = database.findByHashes.bind(database);
    database.findByHashes = async (hashes) => {
      const rows = await plain(hashes);
      await bus.publish({ type: 'account', accountId: 'acc_9' });
      return rows;
    };
    expect((await find('a'))?.record.hash).toBe('a');
    database.findByHashes = plain;
    const before = database.queries.length;
    await find('a');
    expect(database.queries.length).toBe(before + 1);
  });

  it('does not trust the row if the bus came up only before the response', async () => {
    const { clock, database, bus, find } = setUp();
    database.rows.set('a', record('a'));
    bus.since = null;
    const gate = Promise.withResolvers<void>();
    database.gate = gate.promise;
    const found = find('a');
    clock.nowMs += 100; // the key is revoked now, without a message
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    clock.nowMs += 100;
    bus.since = clock.nowMs;
    clock.nowMs += 100;
    gate.resolve();
    await found;
    clock.nowMs += FRESH_WITHOUT_BUS_MS;
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });
});

describe('unknown keys', () => {
  it('are not looked up again at once', async () => {
    const { database, cache, find } = setUp();
    expect(await find('junk')).toBeUndefined();
    expect(cache.find('junk')).toBeUndefined();
    expect(database.queries).toHaveLength(1);
  });

  it('are limited in number, and do not evict known keys', async () => {
    const { database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    for (let index = 0; index < 10_001; index += 501) {
      await Promise.all(Array.from({ length: 501 }, (_, offset) => find(`junk${index + offset}`)));
    }
    expect(countEntries(cache, 'unknown')).toBe(10_000);
    expect(countEntries(cache, 'known')).toBe(1);
    expect(cache.find('a')).toMatchObject({ record: { hash: 'a' } });
  });

  it('that were deleted from the database are removed at the next check', async () => {
    const { cache, clock, database, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    database.rows.clear();
    clock.nowMs += 300_000;
    expect(await find('a')).toBeUndefined();
    expect(countEntries(cache, 'known')).toBe(0);
  });
});
