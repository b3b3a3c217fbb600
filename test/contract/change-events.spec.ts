/** Changes of keys and accounts create events for their account, in the transaction of the change. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { addExpiringKeys } from '../../src/accounts/change-events.js';
import { WorkSignal, type SignaledEndpoints } from '../../src/outbox/work-signal.js';
import { compileDataSchema } from '../../src/config/data-schema.js';
import { OWN_EVENTS } from '../../src/outbox/own-events.js';
import { METRICS } from '../../src/platform/metrics.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { OPERATOR, storesOn } from '../support/stores.js';
import { addEndpoint, deliveriesIn } from '../support/webhooks.js';

const DAY_MS = 86_400_000;
const counted = () => METRICS.events.series('trailgate', 'accepted').value;
const ACCOUNT = { name: 'Isar', plan: 'starter', time_zone: 'UTC', billing_day: 1 };

describeOnDatabases('changes', (kind) => {
  let database: DatabaseHandle;
  let stores: ReturnType<typeof storesOn>;
  let accountId: string;
  let signal: WorkSignal;
  const signaled: SignaledEndpoints[] = [];
  beforeEach(async () => {
    database = await testDatabase(kind);
    signal = new WorkSignal();
    signaled.length = 0;
    signal.addFollower((each) => signaled.push(each));
    stores = storesOn(database, signal);
    ({ id: accountId } = await stores.accounts.create(ACCOUNT, OPERATOR));
  });
  afterEach(() => database.close());

  const newKey = (expires_at: string | null = null) =>
    stores.keys.create(
      accountId,
      { name: 'Booking', scopes: ['customers:read'], environment: 'live', allowed_ips: [], limits: null, expires_at },
      OPERATOR,
    );
  const events = () => database.db.selectFrom('event').selectAll().orderBy('id').execute();
  const types = async () => (await events()).map(({ type }) => type);

  it('to a key create events that match their schema, with key and actor but no secret', async () => {
    const { key, secret } = await newKey();
    const rotated = await stores.keys.rotate(key.id, { overlap_seconds: 3_600 }, OPERATOR);
    await stores.keys.endPreviousSecret(key.id, OPERATOR);
    await stores.keys.endPreviousSecret(key.id, OPERATOR);
    await stores.keys.pause(key.id, OPERATOR);
    await stores.keys.pause(key.id, OPERATOR);
    await stores.keys.resume(key.id, OPERATOR);
    await stores.keys.update(key.id, { name: 'Other', external_id: 'site-7', metadata: { team: 'web' } }, OPERATOR);
    await stores.keys.revoke(key.id, OPERATOR);
    const rows = await events();
    expect(rows.map(({ type }) => type)).toEqual([
      'api_key.created',
      'api_key.rotated',
      'api_key.previous_secret_ended',
      'api_key.paused',
      'api_key.resumed',
      'api_key.revoked',
    ]);
    expect(rows.every((row) => row.account_id === accountId && row.resource === key.id)).toBe(true);
    expect(JSON.parse(rows[5]?.data ?? '')).toEqual({
      api_key: {
        id: key.id,
        name: 'Other',
        scopes: ['customers:read'],
        environment: 'live',
        hint: rotated.key.hint,
        status: 'revoked',
        expires_at: null,
        external_id: 'site-7',
        metadata: { team: 'web' },
      },
      actor: 'operator',
    });
    for (const { type, data } of rows) {
      const check = await compileDataSchema({ ...OWN_EVENTS[type]!.schema });
      expect([type, check(JSON.parse(data))]).toEqual([type, undefined]);
    }
    const text = JSON.stringify(rows);
    expect([text.includes(secret), text.includes(rotated.secret)]).toEqual([false, false]);
  });

  it('create deliveries, signal them and count them, and a rejected change creates no event', async () => {
    const endpointId = await addEndpoint(database.db, stores.clock.now(), { account_id: accountId });
    const before = counted();
    const { key } = await newKey();
    expect([signaled, (await deliveriesIn(database.db)).length]).toEqual([[[endpointId]], 1]);
    await stores.keys.revoke(key.id, OPERATOR);
    await expect(stores.keys.pause(key.id, OPERATOR)).rejects.toMatchObject({ code: 'conflict' });
    expect(counted() - before).toBe(2);
    expect(await types()).toEqual(['api_key.created', 'api_key.revoked']);
  });

  it('signal and count their events after the commit, and not if they are rolled back', async () => {
    const { key } = await newKey();
    const endpointId = await addEndpoint(database.db, stores.clock.now(), { account_id: accountId });
    const before = counted();
    const committed: Promise<string[]>[] = [];
    signal.addFollower(() => committed.push(types()));
    const undone = database.db.transaction().execute(async (trx) => {
      await stores.keys.revokeWithin(trx, key.id, OPERATOR, {});
      throw new Error('undone');
    });
    await expect(undone).rejects.toThrow('undone');
    expect([signaled, counted() - before, await types()]).toEqual([[], 0, ['api_key.created']]);
    await stores.keys.revoke(key.id, OPERATOR);
    expect([signaled, counted() - before]).toEqual([[[endpointId]], 1]);
    expect(await Promise.all(committed)).toEqual([['api_key.created', 'api_key.revoked']]);
  });

  it('to the status of an account create events, and other changes to it do not', async () => {
    await stores.accounts.update(accountId, { name: 'Inn' }, OPERATOR);
    await stores.accounts.update(accountId, { status: 'suspended' }, OPERATOR);
    await stores.accounts.update(accountId, { status: 'suspended' }, OPERATOR);
    await stores.accounts.update(accountId, { status: 'active' }, OPERATOR);
    const rows = await events();
    expect(rows.map(({ type, data }) => [type, JSON.parse(data)])).toEqual(
      (['suspended', 'active'] as const).map((status, index) => [
        ['account.suspended', 'account.reactivated'][index],
        {
          account: { id: accountId, name: 'Inn', plan: 'starter', status, external_id: null, metadata: {} },
          actor: 'operator',
        },
      ]),
    );
  });

  it('over time create expiry events a week and a day ahead, once each and again for a new expiry', async () => {
    const in10Days = new Date(stores.clock.now() + 10 * DAY_MS).toISOString();
    const { key } = await newKey(in10Days);
    await newKey(new Date(stores.clock.now() + DAY_MS / 2).toISOString());
    const { key: revoked } = await newKey(in10Days);
    await stores.keys.revoke(revoked.id, OPERATOR);
    const expiring = async () => {
      await addExpiringKeys(database.db, signal, stores.clock.now());
      return (await events()).filter(({ type }) => type === 'api_key.expiring').map(({ resource }) => resource);
    };
    expect(await expiring()).toEqual([]);
    stores.clock.advance(3 * DAY_MS);
    expect(await expiring()).toEqual([key.id]);
    stores.clock.advance(DAY_MS);
    expect(await expiring()).toEqual([key.id]);
    stores.clock.advance(5.5 * DAY_MS);
    expect(await expiring()).toEqual([key.id, key.id]);
    const later = new Date(stores.clock.now() + 2 * DAY_MS).toISOString();
    await stores.keys.update(key.id, { expires_at: later }, OPERATOR);
    expect(await expiring()).toEqual([key.id, key.id, key.id]);
  });
});

it('the example of every built-in event matches its schema', async () => {
  for (const [type, { schema, example }] of Object.entries(OWN_EVENTS)) {
    expect([type, (await compileDataSchema({ ...schema }))(example)]).toEqual([type, undefined]);
  }
});
