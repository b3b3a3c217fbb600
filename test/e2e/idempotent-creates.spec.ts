/**
 * Clients can repeat create requests with their Idempotency-Key, on SQLite and PostgreSQL. Nothing is created twice,
 * however the first response was lost. No secret is stored for a repetition.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ChangeClaims, writeOutcome } from '../../src/idempotency/change-claims.js';
import { bigintLiteral } from '../../src/idempotency/database-records.js';
import type { ClaimTerms } from '../../src/idempotency/record.js';
import { RecordSweep } from '../../src/idempotency/record-sweep.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { testDatabase } from '../support/database.js';
import { readableRecords } from '../support/record-stores.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';

const DAY_MS = 86_400_000;
let count = 0;

describeOnDatabases('a request with an Idempotency-Key', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;
  let idempotencyKey: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
    idempotencyKey = `8e03978e-40d5-43dd-bc93-${String(++count).padStart(12, '0')}`;
  });
  afterEach(() => running.close());

  const post = (path: string, body: object, key = idempotencyKey, token = ADMIN_TOKEN): Promise<Answer> =>
    send(`${running.url}/admin/v1${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'Idempotency-Key': key },
    });
  const keysPath = () => `/accounts/${accountId}/api-keys`;
  const newKey = { name: 'Shop', scopes: ['customers:read'] };
  const keysMade = async () => (await running.admin.listKeys(accountId)).data;
  const now = () => bigintLiteral(running.clock.now());
  const rows = () => readableRecords(database);

  it('whose response was lost creates one API key; the retry gets its location but no secret', async () => {
    const body = JSON.stringify(newKey);
    const head = [
      `POST /admin/v1${keysPath()} HTTP/1.1`,
      'Host: localhost',
      `Authorization: Bearer ${ADMIN_TOKEN}`,
      `Idempotency-Key: ${idempotencyKey}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    const socket = connect(running.port, '127.0.0.1');
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
    await once(socket, 'close');
    await eventually('the key is created', async () => (await keysMade()).length === 1);
    const retried = await post(keysPath(), newKey);
    expectProblem(retried, 'idempotency_secret_shown');
    const [made] = await keysMade();
    expect([retried.headers['location'], retried.headers['idempotent-replayed']]).toEqual([
      `/admin/v1/api-keys/${made!.id}`,
      'true',
    ]);
    expect(await keysMade()).toHaveLength(1);
  });

  it('that creates or rotates a secret stores no part of it, and a repeated rotation does not return it', async () => {
    const { secret, id } = (await post(keysPath(), newKey)).json<ApiKeyWithSecret>();
    const rotate = await post(`/api-keys/${id}/rotate`, { overlap_seconds: 0 }, `${idempotencyKey}-rotate`);
    const rotated = rotate.json<ApiKeyWithSecret>();
    const again = await post(`/api-keys/${id}/rotate`, { overlap_seconds: 0 }, `${idempotencyKey}-rotate`);
    expectProblem(again, 'idempotency_secret_shown');
    const kept = JSON.stringify(await rows());
    for (const each of [secret, rotated.secret]) {
      expect(kept).not.toContain(each.slice(8));
      expect(again.text).not.toContain(each.slice(8, 30));
    }
    // The key was rotated only once, so the first response has the current secret.
    expect(await running.admin.getKey(id)).toMatchObject({ hint: rotated.hint, version: 2 });
  });

  it('that creates an account gets the same response again when repeated', async () => {
    const body = { name: 'Isar', plan: 'pro', time_zone: 'Europe/Vienna' };
    const first = await post('/accounts', body);
    const again = await post('/accounts', body, `"${idempotencyKey}"`);
    expect([again.status, again.json(), again.headers['idempotent-replayed']]).toEqual([201, first.json(), 'true']);
    for (const name of ['location', 'etag']) expect([name, again.headers[name]]).toEqual([name, first.headers[name]]);
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    const named = sql<{ n: number }>`select count(*) as n from account where name = 'Isar' and id >= ${accountId}`;
    expect((await named.execute(database.db)).rows).toEqual([{ n: 1 }]);
  });

  it('that adjusts a quota creates one adjustment', async () => {
    const path = `/accounts/${accountId}/quota-adjustments`;
    const body = { window: 'month', type: 'set', amount: 7, reason: 'moved in' };
    const [first, again] = [await post(path, body), await post(path, body)];
    expect([first.status, again.status, again.json()]).toEqual([201, 201, first.json()]);
    expect((await running.admin.request('GET', path)).json<{ data: object[] }>().data).toHaveLength(1);
  });

  it.each([
    ['another body', (path: string) => post(path, { ...newKey, name: 'Other' })],
    ['another path', () => post('/accounts', { name: 'Isar', plan: 'pro' })],
  ])('that is repeated with %s is refused and creates nothing', async (_what, other) => {
    await post(keysPath(), newKey);
    expectProblem(await other(keysPath()), 'idempotency_mismatch');
    expect(await keysMade()).toHaveLength(1);
  });

  it('that arrives ten times at once creates one API key, and the other nine get 409', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => post(keysPath(), newKey)));
    expect(all.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const each of all.filter(({ status }) => status !== 201)) {
      expect(each.status).toBe(409);
      const code = String(each.json()['code']);
      expect(['idempotency_in_progress', 'idempotency_secret_shown']).toContain(code);
      // Retry times are spread over some seconds, so that retries do not come at once.
      const wait = Number(each.headers['retry-after'] ?? 0);
      expect(wait > 0 && wait < 10).toBe(code === 'idempotency_in_progress');
    }
    expect(await keysMade()).toHaveLength(1);
  });

  it('that was refused can be sent again with the same key after a correction', async () => {
    expectProblem(await post(keysPath(), { ...newKey, scopes: ['nothing:read'] }), 'validation_failed');
    expectProblem(await post('/accounts/acc_none/api-keys', newKey), 'resource_not_found');
    expect(await rows()).not.toContainEqual(expect.objectContaining({ status: null }));
    expect((await post(keysPath(), newKey)).status).toBe(201);
  });

  it('that another caller sends with the same key creates its own API key', async () => {
    const expires = new Date(running.clock.now() + DAY_MS).toISOString();
    const token = { name: 'CI', role: 'admin', expires_at: expires };
    const { secret } = (await running.admin.request('POST', `/accounts/${accountId}/tokens`, token)).json<{
      secret: string;
    }>();
    for (const owner of [ADMIN_TOKEN, secret]) {
      expect((await post(keysPath(), newKey, idempotencyKey, owner)).status).toBe(201);
    }
    expect(await keysMade()).toHaveLength(2);
  });

  it('does not affect equal requests without one, which are carried out each time and not stored', async () => {
    expect((await post(keysPath(), newKey)).status).toBe(201);
    const before = (await rows()).length;
    for (let time = 0; time < 2; time++) {
      const made = await running.admin.request('POST', keysPath(), newKey);
      expect([made.status, made.headers['idempotent-replayed']]).toEqual([201, undefined]);
    }
    expect(await keysMade()).toHaveLength(3);
    expect(await rows()).toHaveLength(before);
  });

  it('that stalls loses its claim after 30 seconds, and then can no longer change anything', async () => {
    const claims = new ChangeClaims(database.db, now);
    const claim = (fingerprint = 'the same request') => claims.claim('operator', idempotencyKey, fingerprint);
    const slow = await claim();
    running.clock.advance(29_999);
    expect((await claim()).claimed).toEqual({ state: 'under_way' });
    running.clock.advance(1);
    const [next, other] = await Promise.all([claim(), claim()]);
    expect([next.claimed.state, other.claimed.state].toSorted()).toEqual(['claimed', 'under_way']);
    const taken = next.claimed.state === 'claimed' ? next : other;
    const carryOut = (by: ClaimTerms, location: string) =>
      database.db.transaction().execute(async (trx) => {
        await trx.updateTable('account').set({ name: location }).where('id', '=', accountId).execute();
        await writeOutcome(trx, by, location);
      });
    await expect(carryOut(slow.claim, 'slow')).rejects.toMatchObject({ code: 'idempotency_in_progress' });
    await claims.release(slow.claim);
    await carryOut(taken.claim, 'taken over');
    await claims.release(taken.claim);
    expect((await running.admin.getAccount(accountId)).name).toBe('taken over');
    expect((await claim()).claimed).toMatchObject({ state: 'done', status: 201 });
    const response = { status: 201, code: 'idempotency_secret_shown', lines: 'Location: taken over\r\n' };
    expect(await claims.read(taken.claim.name)).toEqual({ ...response, body: Buffer.alloc(0) });
    expect((await claim('another')).claimed).toEqual({ state: 'mismatch' });
  });

  it('is forgotten after a day, and only then', async () => {
    const sweep = new RecordSweep(database.db, now);
    await post(keysPath(), newKey);
    running.clock.advance(DAY_MS - 1);
    await sweep.run();
    expectProblem(await post(keysPath(), newKey), 'idempotency_secret_shown');
    running.clock.advance(1);
    // The key can be used again even before the sweep has run.
    expect((await post(keysPath(), newKey)).status).toBe(201);
    running.clock.advance(DAY_MS);
    expect(await sweep.run()).toBeGreaterThan(0);
    expect(await rows()).toEqual([]);
  });

  it.each(['', 'x'.repeat(256), 'a\tb'])('whose key is %j is refused before anything is done', async (key) => {
    expectProblem(await post(keysPath(), newKey, key), 'bad_request');
    expect(await keysMade()).toEqual([]);
  });

  it('that creates nothing is carried out every time and is not stored', async () => {
    const { id } = (await post(keysPath(), newKey)).json<ApiKeyWithSecret>();
    const before = (await rows()).length;
    for (let time = 0; time < 2; time++) {
      const paused = await post(`/api-keys/${id}/pause`, {}, `${idempotencyKey}-pause`);
      expect([paused.status, paused.headers['idempotent-replayed']]).toEqual([200, undefined]);
    }
    expect(await rows()).toHaveLength(before);
  });
});
