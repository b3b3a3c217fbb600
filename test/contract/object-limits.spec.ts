/** Objects that anyone can create are evicted from the network with most of them first, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { TestClock } from '../support/stores.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { originOf, type ObjectOrigin, type ObjectLimits } from '../../src/authorization/clients/object-limits.js';
import { OAuthObjects } from '../../src/authorization/clients/oauth-objects.js';

const MOST = 10_000;
const LIFETIME_MS = 600_000;
const HONEST = originOf('192.0.2.1', false, 'honest');

describeOnDatabases('the table of OAuth objects that anyone can create', (kind) => {
  let database: DatabaseHandle;
  let clock: TestClock;
  let objects: OAuthObjects;
  let room: ObjectLimits;
  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  beforeEach(async () => {
    await database.db.deleteFrom('oauth_object').execute();
    clock = new TestClock();
    objects = new OAuthObjects(database.db, clock);
    room = objects.limitsFor({
      kind: 'Interaction',
      beside: ['Request'],
      lifetimeMs: LIFETIME_MS,
      most: MOST,
      mostOfNetwork: 100,
      mostOfSite: 200,
      mostOfClient: 1_000,
    });
  });
  afterAll(() => database?.close());

  const add = async (id: string, origin: ObjectOrigin): Promise<void> => {
    await room.makeRoom(origin);
    await objects.storeObject('Interaction', id, {}, clock.now() + LIFETIME_MS, { origin });
    await objects.storeObject('Request', id, {}, clock.now() + LIFETIME_MS);
    clock.advance(1);
  };
  const isKept = async (id: string): Promise<boolean> => (await objects.findPayload('Interaction', id)) !== undefined;
  /** Fills the table evenly from the given number of networks. */
  const fill = async (networks: number): Promise<void> => {
    const end = clock.now() + LIFETIME_MS;
    await sql`
      with recursive n(i) as (select 0 union all select i + 1 from n where i < ${MOST - 1})
      insert into oauth_object (kind, hash, payload, expires_at, network, site, client)
      select 'Interaction', 'h' || i, '{}', ${end}, 'n' || (i % ${networks}), 'n' || (i % ${networks}), 'c' || (i % 11)
      from n
    `.execute(database.db);
  };
  const counts = async (column: 'network' | 'site' | 'client', value: string): Promise<number> => {
    const rows = database.db.selectFrom('oauth_object').select('hash').where('kind', '=', 'Interaction');
    return (await rows.where(column, '=', value).execute()).length;
  };
  const size = async (of: string): Promise<number> =>
    (await database.db.selectFrom('oauth_object').select('hash').where('kind', '=', of).execute()).length;

  it.each([17, 5_000])(
    'filled by %i networks keeps new objects of another network, and stays within its limit',
    async (networks) => {
      await fill(networks);
      for (let count = 0; count < 10; count++)
        await add(`mine ${count}`, originOf(`192.0.2.${count}`, false, 'honest'));
      for (let count = 0; count < 10; count++) expect(await isKept(`mine ${count}`)).toBe(true);
      expect([await size('Interaction'), await size('Request')]).toEqual([MOST, 10]);
    },
  );

  it('evicts the oldest objects of a network over its limit, and of no other network', async () => {
    await add('honest', HONEST);
    for (let count = 0; count < 102; count++) await add(`${count}`, originOf('203.0.113.1', false, 'x'));
    expect([await isKept('0'), await isKept('1'), await isKept('2')]).toEqual([false, false, true]);
    expect([await counts('network', '203.0.113.1'), await isKept('honest')]).toEqual([100, true]);
    expect(await size('Request')).toBe(101);
  });

  it('limits a /48 as well as each /64 in it, and evicts from the fullest /64', async () => {
    await add('neighbour', originOf('2001:db8:1:ffff::1', false, 'x'));
    for (let count = 0; count < 99; count++) await add(`one ${count}`, originOf('2001:db8:1:1::1', false, 'x'));
    for (let count = 0; count < 150; count++) {
      await add(`${count}`, originOf(`2001:db8:1:${(count + 2).toString(16)}::1`, false, 'x'));
    }
    expect(await counts('site', '2001:db8:1::/48')).toBe(200);
    expect([await isKept('neighbour'), await isKept('one 0'), await isKept('149')]).toEqual([true, false, true]);
  });

  it('limits a client across all of its addresses', async () => {
    for (let count = 0; count < 1_002; count++) {
      await add(`${count}`, originOf(`10.0.${count >> 8}.${count & 255}`, false, 'busy'));
    }
    expect(await counts('client', originOf('', false, 'busy').client)).toBe(1_000);
  });

  it('counts each request of a shared network as its own network', async () => {
    for (let count = 0; count < 250; count++) await add(`${count}`, originOf('203.0.113.1', true, 'x'));
    expect(await size('Interaction')).toBe(250);
  });
});
