/**
 * Two administrators edit the same key or account. The second learns what the first has changed, and no change is lost.
 * Runs on SQLite and PostgreSQL.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';

const RFC_3339 = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+01:00$/);

describeOnDatabases('a conditional request', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  let key: ApiKeyWithSecret;
  let ana: string;
  let ben: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter', time_zone: 'Europe/Vienna' })).id;
    key = await running.admin.createKey(accountId, { name: 'Shop', scopes: ['customers:read'] });
    [ana, ben] = await Promise.all([tokenOf('Ana'), tokenOf('Ben')]);
  });
  afterEach(() => running.close());

  async function tokenOf(name: string): Promise<string> {
    const expires = new Date(running.clock.now() + 3_600_000).toISOString();
    const body = { name, role: 'admin', expires_at: expires };
    return (await running.admin.request('POST', `/accounts/${accountId}/tokens`, body)).json<{ secret: string }>()
      .secret;
  }

  function ask(
    token: string,
    method: string,
    path: string,
    { body, ...conditions }: { body?: object; 'If-Match'?: string; 'If-None-Match'?: string } = {},
  ): Promise<Answer> {
    const headers = {
      Authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...conditions,
    };
    return send(`${running.url}/admin/v1${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
  const keyPath = () => `/api-keys/${key.id}`;
  const etagOf = async (path = keyPath()) => String((await ask(ADMIN_TOKEN, 'GET', path)).headers['etag']);

  it('to edit an outdated key gets 412 with the changed fields, by whom and when, and loses nothing', async () => {
    const seen = await etagOf();
    const first = { body: { name: 'Shop Graz', scopes: ['tours:read'] }, 'If-Match': seen };
    expect((await ask(ana, 'PATCH', keyPath(), first)).status).toBe(200);
    running.clock.advance(60_000);
    await ask(ana, 'PATCH', keyPath(), { body: { name: 'Shop Wien' } });
    const second = { body: { name: 'Store' }, 'If-Match': seen };
    const refused = await ask(ben, 'PATCH', keyPath(), second);
    const { errors } = expectProblem(refused, 'precondition_failed');
    expect(errors).toEqual([
      {
        pointer: '#/name',
        detail: expect.stringMatching(/^was changed by Ana at /),
        changed_by: 'Ana',
        changed_at: RFC_3339,
      },
      { pointer: '#/scopes', detail: expect.any(String), changed_by: 'Ana', changed_at: RFC_3339 },
    ]);
    expect(Date.parse(errors![0]!.changed_at!) - Date.parse(errors![1]!.changed_at!)).toBe(60_000);
    expect(await running.admin.getKey(key.id)).toMatchObject({ name: 'Shop Wien', scopes: ['tours:read'] });

    const taken = await ask(ben, 'PATCH', keyPath(), { ...second, 'If-Match': await etagOf() });
    expect(taken.json()).toMatchObject({ name: 'Store', scopes: ['tours:read'], version: 4 });
    expect(taken.headers['etag']).toBe(await etagOf());
  });

  it.each([
    ['DELETE', '', undefined],
    ['POST', '/pause', undefined],
    ['POST', '/rotate', { overlap_seconds: 0 }],
  ])('with an outdated version changes nothing: %s %s', async (method, action, body) => {
    const seen = await etagOf();
    await ask(ana, 'PATCH', keyPath(), { body: { allowed_ips: ['192.0.2.1'] } });
    const path = `${keyPath()}${action}`;
    const refused = await ask(ben, method, path, { ...(body === undefined ? {} : { body }), 'If-Match': seen });
    const { errors } = expectProblem(refused, 'precondition_failed');
    expect(errors).toMatchObject([{ pointer: '#/allowed_ips', changed_by: 'Ana' }]);
    expect(await running.admin.getKey(key.id)).toMatchObject({ status: 'active', hint: key.hint, version: 2 });
  });

  it('succeeds for one of two simultaneous edits, and gets 412 for the other', async () => {
    const seen = await etagOf();
    const edit = (token: string, name: string) => ask(token, 'PATCH', keyPath(), { body: { name }, 'If-Match': seen });
    const both = await Promise.all([edit(ana, 'a'), edit(ben, 'b')]);
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
    expect(await running.admin.getKey(key.id)).toMatchObject({ version: 2 });
  });

  it('can be repeated after a lost response without a conflict', async () => {
    const seen = await etagOf();
    const edit = { body: { name: 'New' }, 'If-Match': seen };
    const [first, again] = [await ask(ana, 'PATCH', keyPath(), edit), await ask(ana, 'PATCH', keyPath(), edit)];
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.json()).toMatchObject({ name: 'New', version: 2 });
    for (let time = 0; time < 2; time++) {
      expect((await ask(ana, 'POST', `${keyPath()}/pause`, { 'If-Match': '"2"' })).json()).toMatchObject({
        version: 3,
      });
    }
  });

  it('succeeds without If-Match, with *, and with a list that has the current version', async () => {
    for (const condition of [{}, { 'If-Match': '*' }, { 'If-Match': '"99", "3.anything"' }]) {
      const name = `n${JSON.stringify(condition).length}`;
      expect((await ask(ana, 'PATCH', keyPath(), { body: { name }, ...condition })).status).toBe(200);
    }
  });

  it.each(['7', 'W/"1"', '"1'])('with If-Match: %s is refused as malformed, and changes nothing', async (condition) => {
    expectProblem(await ask(ana, 'PATCH', keyPath(), { body: { name: 'x' }, 'If-Match': condition }), 'bad_request');
    expect(await running.admin.getKey(key.id)).toMatchObject({ name: 'Shop', version: 1 });
  });

  it('to read a key gets 304 until any of its fields differs', async () => {
    const seen = await etagOf();
    const same = await ask(ana, 'GET', keyPath(), { 'If-None-Match': `"x", W/${seen}` });
    expect([same.status, same.text, same.headers['etag']]).toEqual([304, '', seen]);
    // A use of the key changes a field, but not the version.
    await database.db.updateTable('api_key').set({ last_used_at: 1 }).where('id', '=', key.id).execute();
    const used = await ask(ana, 'GET', keyPath(), { 'If-None-Match': seen });
    expect([used.status, used.json()['version']]).toEqual([200, 1]);
    // An ETag from before the use still allows an edit.
    expect((await ask(ana, 'PATCH', keyPath(), { body: { name: 'x' }, 'If-Match': seen })).status).toBe(200);
  });

  it('to edit or read an account is checked against its version', async () => {
    const path = `/accounts/${accountId}`;
    const seen = await etagOf(path);
    const edit = (body: object) => ask(ADMIN_TOKEN, 'PATCH', path, { body, 'If-Match': seen });
    expect((await edit({ billing_day: 5 })).json()).toMatchObject({ version: 2 });
    const { errors } = expectProblem(await edit({ plan: 'pro' }), 'precondition_failed');
    expect(errors).toMatchObject([{ pointer: '#/billing_day', changed_by: 'operator' }]);
    expect((await ask(ADMIN_TOKEN, 'GET', path, { 'If-None-Match': await etagOf(path) })).status).toBe(304);
  });
});
