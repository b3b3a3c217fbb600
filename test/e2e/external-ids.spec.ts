/** Accounts and keys have external IDs and metadata for the operator's own systems, on SQLite and PostgreSQL. */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';

interface Listed {
  readonly data: readonly { readonly id: string }[];
}

describeOnDatabases('external IDs and metadata', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
  });
  afterAll(() => running.close().finally(() => database.close()));
  beforeEach(() => running.clock.advance(60_000));

  const request = (method: string, path: string, body?: object) => running.admin.request(method, path, body);
  const create = async (path: string, fields: object) => {
    const answer = await request('POST', path, fields);
    expect([answer.status, answer.text]).toEqual([201, expect.any(String)]);
    return answer.json<{ id: string }>();
  };
  const newAccount = (fields: object) => create('/accounts', { name: 'Isar', plan: 'starter', ...fields });
  const newKey = (accountId: string, fields: object) =>
    create(`/accounts/${accountId}/api-keys`, { name: 'k', scopes: ['customers:read'], ...fields });
  const idsOf = async (path: string) => (await running.admin.call<Listed>('GET', path)).data.map(({ id }) => id);

  it('are kept as sent, changed as a whole, and removed', async () => {
    const fields = { external_id: 'crm-1', metadata: { tier: 'gold', Größe: 'o\'x"=%_' } };
    const account = await newAccount(fields);
    const key = await newKey(account.id, fields);
    for (const path of [`/accounts/${account.id}`, `/api-keys/${key.id}`]) {
      expect((await request('GET', path)).json()).toMatchObject(fields);
      const changed = (await request('PATCH', path, { metadata: { tier: 'silver' } })).json();
      expect(changed).toMatchObject({ external_id: 'crm-1', metadata: { tier: 'silver' } });
      const removed = await request('PATCH', path, { external_id: null, metadata: {} });
      expect([removed.status, removed.json()]).toEqual([
        200,
        expect.objectContaining({ external_id: null, metadata: {} }),
      ]);
    }
    const { data } = await running.admin.auditLog(`?account_id=${account.id}`);
    expect(data[0]).toMatchObject({
      action: 'api_key.updated',
      before: { external_id: 'crm-1', metadata: { tier: 'silver' } },
      after: { external_id: null, metadata: {} },
    });
  });

  it('an external ID is unique among accounts, and among the keys of one account', async () => {
    const [one, other] = [await newAccount({ external_id: 'crm-2' }), await newAccount({})];
    const taken = { code: 'conflict', errors: [{ pointer: '#/external_id', detail: 'is taken' }] };
    const again = await request('POST', '/accounts', { name: 'x', plan: 'starter', external_id: 'crm-2' });
    expect([again.status, again.json()]).toEqual([409, expect.objectContaining(taken)]);
    const moved = await request('PATCH', `/accounts/${other.id}`, { external_id: 'crm-2' });
    expect([moved.status, moved.json()]).toEqual([409, expect.objectContaining(taken)]);
    const body = { name: 'k', scopes: ['customers:read'], external_id: 'key-1' };
    await newKey(one.id, body);
    await newKey(other.id, body);
    const second = await newKey(one.id, {});
    expect((await request('POST', `/accounts/${one.id}/api-keys`, body)).json()).toMatchObject(taken);
    expect((await request('PATCH', `/api-keys/${second.id}`, { external_id: 'key-1' })).json()).toMatchObject(taken);
  });

  it('find accounts and keys by exact match, in pages', async () => {
    const gold = { metadata: { level: 'gold', note: '"level":"silver"' } };
    const account = await newAccount({ external_id: 'Find-Me', ...gold });
    const others = [await newAccount(gold), await newAccount({ metadata: { level: 'Gold' } })];
    const keys = [await newKey(account.id, { external_id: 'k-1', ...gold }), await newKey(account.id, gold)];
    await newKey(account.id, { metadata: { level: 'silver' } });
    expect(await idsOf('/accounts?external_id=Find-Me')).toEqual([account.id]);
    expect(await idsOf('/accounts?external_id=find-me')).toEqual([]);
    expect(await idsOf('/accounts?q=Find-Me')).toEqual([account.id]);
    expect(await idsOf('/accounts?metadata=level%3Dgold')).toEqual([account.id, others[0]?.id]);
    expect(await idsOf('/accounts?metadata=level=silver')).toEqual([]);
    const list = `/accounts/${account.id}/api-keys`;
    expect(await idsOf(`${list}?external_id=k-1`)).toEqual([keys[0]?.id]);
    expect(await idsOf(`${list}?metadata=level=gold`)).toEqual(keys.map(({ id }) => id));
    const page = await running.admin.call<{ next_cursor: string }>('GET', '/accounts?metadata=level=gold&limit=1');
    const next = await request('GET', `/accounts?metadata=level=gold&limit=1&cursor=${page.next_cursor}`);
    expect(next.json<Listed>().data.map(({ id }) => id)).toEqual([others[0]?.id]);
    const foreign = await request('GET', `/accounts?metadata=level=Gold&limit=1&cursor=${page.next_cursor}`);
    expect(foreign.json()).toMatchObject({ code: 'invalid_cursor' });
    expect((await request('GET', '/accounts?metadata=level')).status).toBe(400);
  });

  it.each([
    ['an empty external ID', { external_id: '' }],
    ['an external ID of 201 characters', { external_id: 'x'.repeat(201) }],
    ['a line break in an external ID', { external_id: 'a\nb' }],
    ['51 entries', { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`n${at}`, 'x'])) }],
    ['a name of 41 characters', { metadata: { ['n'.repeat(41)]: 'x' } }],
    ['a name with =', { metadata: { 'a=b': 'x' } }],
    ['an empty name', { metadata: { '': 'x' } }],
    ['a value of 501 characters', { metadata: { n: 'x'.repeat(501) } }],
    ['a value that is no text', { metadata: { n: 1 } }],
    ['a value with U+0000', { metadata: { n: 'a\0b' } }],
  ])('%s is refused in accounts and keys', async (_what, fields) => {
    const account = await newAccount({});
    const body = { name: 'k', scopes: ['customers:read'], ...fields };
    for (const [method, path, sent] of [
      ['PATCH', `/accounts/${account.id}`, fields],
      ['POST', `/accounts/${account.id}/api-keys`, body],
    ] as const) {
      const answer = await request(method, path, sent);
      expect([answer.status, answer.json()]).toEqual([422, expect.objectContaining({ code: 'validation_failed' })]);
      expect(answer.text).not.toMatch(/Invalid (?:input|option|key|string)|Too (?:small|big)|expected|received/);
    }
  });

  it('50 entries of the longest names and values are kept', async () => {
    const entries = Array.from({ length: 50 }, (_, at) => [`${at}`.padStart(40, 'n'), 'ü'.repeat(500)]);
    const metadata = Object.fromEntries(entries) as Record<string, string>;
    const account = await newAccount({ metadata });
    expect((await request('GET', `/accounts/${account.id}`)).json()).toMatchObject({ metadata });
  });
});
