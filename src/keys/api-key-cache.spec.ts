import { describe, expect, it } from '@jest/globals';
import { keyRecord } from '../../test/support/key-records.js';
import type { GatewayFile } from '../config/model/schema.js';
import { Problem } from '../problems/errors.js';
import { METRICS } from '../platform/metrics.js';
import type { ApiKeyLookup, ApiKeyRecord, Heard, Invalidation, InvalidationBus } from './api-key.js';
import { ApiKeyCache } from './api-key-cache.js';
import { FRESH_WITHOUT_BUS_MS, LONGEST_STALE_MS } from './key-staleness.js';
import { KnownKeyFactory, type KnownKey } from './known-key.js';
import { ScopeSets } from './scopes.js';

const PLANS = {
  starter: { key: { minute: 60 }, account: {}, onRedisLoss: 'local', charge: 'all' },
} as const satisfies GatewayFile['plans'];

const record = (hash: string, changes: Partial<ApiKeyRecord> = {}): ApiKeyRecord =>
  keyRecord({ hash, keyId: `key_${hash}`, ...changes });

/** A database that answers when the test lets it. */
class Database implements ApiKeyLookup {
  readonly rows = new Map<string, ApiKeyRecord>();
  readonly queries: (readonly string[])[] = [];
  down = false;
  /** While set, each query waits for it after it has read its rows. */
  gate: Promise<void> | undefined;

  async findByHashes(hashes: readonly string[]): Promise<readonly ApiKeyRecord[]> {
    this.queries.push(hashes);
    if (this.down) throw new Error('the database is away');
    const found = hashes.flatMap((hash) => this.rows.get(hash) ?? []);
    await this.gate;
    return found;
  }
}

class Bus implements InvalidationBus {
  private readonly listeners: ((change: Invalidation) => void)[] = [];
  since: number | null = 0;
  async publish(change: Invalidation): Promise<void> {
    for (const listener of this.listeners) listener(change);
  }
  subscribe(listener: (change: Invalidation) => void): void {
    this.listeners.push(listener);
  }
  heard(): Heard {
    return { untilMs: this.since === null ? -Infinity : Infinity, gapFromMs: null };
  }

  connectedSince(): number | null {
    return this.since;
  }
}

function setUp(mostKnown?: number) {
  const clock = { nowMs: 1_800_000_000_000, now: () => clock.nowMs };
  const database = new Database();
  const bus = new Bus();
  const factory = new KnownKeyFactory(PLANS, new ScopeSets());
  const cache = new ApiKeyCache(database, factory, bus, clock, mostKnown);
  const find = async (hash: string): Promise<KnownKey | undefined> => cache.find(hash);
  return { clock, database, bus, cache, find };
}

const series = (result: 'memory' | 'memory_unknown' | 'database') => METRICS.keyLookups.series(result).value;

function entries(kind: 'known' | 'unknown'): number {
  METRICS.keyCacheEntries.collect?.();
  return METRICS.keyCacheEntries.series(kind).value;
}

async function refusalOf(answer: unknown): Promise<Problem> {
  const error = await Promise.resolve(answer).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Problem)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe('a key in memory', () => {
  it('is answered at once and costs no look-up', async () => {
    const { database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    const first = await find('a');
    const [hits, misses] = [series('memory'), series('database')];
    expect(cache.find('a')).toBe(first);
    expect(first?.record.keyId).toBe('key_a');
    expect(database.queries).toHaveLength(1);
    expect([series('memory') - hits, series('database') - misses]).toEqual([1, 0]);
  });

  it('is looked up once for all who ask meanwhile, and many keys share a query', async () => {
    const { database, find } = setUp();
    for (let index = 0; index < 250; index++) database.rows.set(`h${index}`, record(`h${index}`));
    const asked = [...database.rows.keys()].flatMap((hash) => [find(hash), find(hash)]);
    const found = await Promise.all(asked);
    expect(found.every((key, index) => key?.record.hash === `h${index >> 1}`)).toBe(true);
    expect(database.queries.flat()).toHaveLength(250);
    expect(database.queries.length).toBeLessThanOrEqual(6);
  });

  it('goes at once when the key is changed, and only that key', async () => {
    const { database, bus, cache, find } = setUp();
    database.rows.set('a', record('a')).set('b', record('b'));
    await Promise.all([find('a'), find('b')]);
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    await bus.publish({ type: 'api_key', accountId: 'acc_1', keyId: 'key_a' });
    expect(cache.find('b')).toMatchObject({ record: { hash: 'b' } });
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });

  it('goes with every other key of its account when the account is changed', async () => {
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

  it('keeps its quota subject over a re-check, so that counts in memory stay with it', async () => {
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
  it('are bounded: those go that nobody uses, and changes reach the ones that stay', async () => {
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

describe('a change during a look-up', () => {
  it('never leaves the old row in memory, and the answer is the new row', async () => {
    const { database, bus, find } = setUp();
    database.rows.set('a', record('a'));
    const gate = Promise.withResolvers<void>();
    database.gate = gate.promise;
    const answer = find('a');
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    await bus.publish({ type: 'api_key', accountId: 'acc_1', keyId: 'key_a' });
    gate.resolve();
    expect((await answer)?.record.keyStatus).toBe('revoked');
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });

  it('that keeps coming ends with an answer that is not kept', async () => {
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

  it('while the bus was down is not trusted because the bus came up before the answer', async () => {
    const { clock, database, bus, find } = setUp();
    database.rows.set('a', record('a'));
    bus.since = null;
    const gate = Promise.withResolvers<void>();
    database.gate = gate.promise;
    const answer = find('a');
    clock.nowMs += 100; // the key is revoked now; nobody is told
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    clock.nowMs += 100;
    bus.since = clock.nowMs;
    clock.nowMs += 100;
    gate.resolve();
    await answer;
    clock.nowMs += FRESH_WITHOUT_BUS_MS;
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });
});

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

  it('what was checked before the bus came back is checked again, for a message may have been missed', async () => {
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

  it('a clock that went back makes nothing trusted', async () => {
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
  it('a known key goes on, and an unknown key is unavailable, never unknown', async () => {
    const { clock, database, bus, cache, find } = setUp();
    database.rows.set('a', record('a'));
    const known = await find('a');
    database.down = true;
    bus.since = null;
    clock.nowMs += FRESH_WITHOUT_BUS_MS;
    const stale = METRICS.keyStaleAnswers.series().value;
    expect(await find('a')).toBe(known);
    const problem = await refusalOf(cache.find('b'));
    expect([problem.code, problem.status, problem.options.headers]).toEqual([
      'authentication_unavailable',
      503,
      ['Retry-After', expect.stringMatching(/^[1-3]$/), 'X-Should-Retry', 'true'],
    ]);
    expect(METRICS.keyStaleAnswers.series().value).toBe(stale + 1);
    expect(problem.options.detail).not.toContain('the database is away');
  });

  it('only the first request waits for it: the next ones go on while it is asked behind them', async () => {
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

  it('nobody is remembered as unknown: once it is back the key is found', async () => {
    const { database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    database.down = true;
    await refusalOf(cache.find('a'));
    database.down = false;
    expect((await find('a'))?.record.hash).toBe('a');
  });

  it('a change that was made meanwhile is in force once it is back', async () => {
    const { clock, database, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    database.down = true;
    clock.nowMs += 300_000;
    await find('a');
    database.down = false;
    database.rows.set('a', record('a', { keyStatus: 'revoked' }));
    await find('a'); // asks behind the request
    await new Promise((done) => setImmediate(done));
    expect((await find('a'))?.record.keyStatus).toBe('revoked');
  });

  it('a known key does not outlive the stated hour', async () => {
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

  it('requests that wait for look-ups are bounded; those beyond are refused at once', async () => {
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

describe('unknown keys', () => {
  it('are asked for once in a minute', async () => {
    const { database, cache, find } = setUp();
    expect(await find('junk')).toBeUndefined();
    expect(cache.find('junk')).toBeUndefined();
    expect(database.queries).toHaveLength(1);
  });

  it('take a bounded part of the memory, and none from the known ones', async () => {
    const { database, cache, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    for (let index = 0; index < 10_001; index += 501) {
      await Promise.all(Array.from({ length: 501 }, (_, offset) => find(`junk${index + offset}`)));
    }
    expect(entries('unknown')).toBe(10_000);
    expect(entries('known')).toBe(1);
    expect(cache.find('a')).toMatchObject({ record: { hash: 'a' } });
  });

  it('that are deleted from the database are gone from memory at the next check', async () => {
    const { clock, database, find } = setUp();
    database.rows.set('a', record('a'));
    await find('a');
    database.rows.clear();
    clock.nowMs += 300_000;
    expect(await find('a')).toBeUndefined();
    expect(entries('known')).toBe(0);
  });
});
