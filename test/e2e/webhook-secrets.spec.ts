/**
 * The secrets of webhook endpoints, on SQLite and PostgreSQL. They are shown once, sealed at rest, replaced with an
 * overlap, and never shared by two endpoints. Also covers a missing or different sealing key.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { WebhookSecrets } from '../../src/webhooks/signing/secret-store.js';
import { formatPublicKey, formatWebhookSecret } from '../../src/webhooks/signing/webhook-secret.js';
import { SecretBox } from '../../src/stores/secrets/secret-box.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { readableRecords } from '../support/record-stores.js';
import { newWebhook } from '../support/webhook-endpoints.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { PUBLIC_URL as URL, type MadeEndpoint } from '../support/webhook-endpoints.js';

const DAY_MS = 86_400_000;
const SUPPLIED = formatWebhookSecret(Buffer.alloc(24, 7));
/** Secret box with the key of `startAdmin`. */
const BOX = new SecretBox(Buffer.alloc(32, 2));
const TABLES = ['webhook_endpoint', 'webhook_secret', 'audit_entry'];

describeOnDatabases('the secret of a webhook endpoint', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    running = await startAdmin(database);
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterEach(async () => {
    await database.db.deleteFrom('webhook_secret').execute();
    await running.close();
  });

  const path = () => `/accounts/${accountId}/webhook-endpoints`;
  const create = (fields: object = {}) => running.admin.call<MadeEndpoint>('POST', path(), { url: URL, ...fields });
  const rotate = (id: string, fields: object = {}) =>
    running.admin.call<MadeEndpoint>('POST', `/webhook-endpoints/${id}/rotate-secret`, fields);
  const post = (to: string, body: object, headers: Record<string, string> = {}): Promise<Answer> =>
    send(`${running.url}/admin/v1${to}`, {
      method: 'POST',
      body,
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
    });
  const keysOf = async (id: string, box: SecretBox | null = BOX) => {
    const keys = await new WebhookSecrets(database.db, box).signingKeys(id, running.clock.now());
    return { secrets: keys.secrets.map(formatWebhookSecret), publicKeys: keys.privateKeys.map(formatPublicKey) };
  };

  it('keeps the schedule of waiting deliveries if rotated without overlap, and makes them due otherwise', async () => {
    const { endpoint, delivery } = await newWebhook(running, accountId);
    const later = running.clock.now() + 3_600_000;
    const pending = database.db.updateTable('webhook_delivery').set({ due_at: later, attempts: 1 });
    await pending.where('id', '=', delivery).execute();
    const dueAt = async () => {
      const row = database.db.selectFrom('webhook_delivery').select('due_at').where('id', '=', delivery);
      return (await row.executeTakeFirstOrThrow()).due_at;
    };
    await rotate(endpoint, { overlap_seconds: 0 });
    expect(await dueAt()).toBe(later);
    await rotate(endpoint, { overlap_seconds: 3_600 });
    expect(await dueAt()).toBe(running.clock.now());
  });

  it('signs deliveries, and is not readable in any table, log or other response', async () => {
    const made = await create();
    const rotated = await rotate(made.id);
    const { secrets, publicKeys } = await keysOf(made.id);
    expect(secrets).toEqual([rotated.secret, made.secret]);
    expect(publicKeys).toEqual(rotated.public_keys.map(({ key }) => key));
    const rows = await Promise.all(TABLES.map((table) => sql`select * from ${sql.table(table)}`.execute(database.db)));
    const shown = await running.admin.call('GET', path());
    const records = await readableRecords(database);
    const text = JSON.stringify([rows.map((result) => result.rows), records, shown, running.log]);
    expect(text).toContain(made.id);
    for (const secret of [made.secret, rotated.secret]) {
      const bytes = Buffer.from(secret.slice(6), 'base64');
      for (const form of [secret.slice(6), bytes.toString('base64url'), bytes.toString('hex')]) {
        expect(text).not.toContain(form);
      }
    }
  });

  it('is not shown again to a repeated request, which gets the location of the endpoint', async () => {
    for (const [to, body, made] of [
      [path(), { url: URL }, 1],
      [`/webhook-endpoints/${(await create()).id}/rotate-secret`, { overlap_seconds: 60 }, 2],
    ] as const) {
      const key = { 'Idempotency-Key': `8e03978e-40d5-43dd-bc93-${kind.slice(0, 6).padEnd(11, '0')}${made}` };
      const first = await post(to, body, key);
      expect(first.status).toBe(201);
      const { id, secret } = first.json<MadeEndpoint>();
      const again = await post(to, body, key);
      expectProblem(again, 'idempotency_secret_shown');
      expect(again.headers['location']).toBe(`/admin/v1/webhook-endpoints/${id}`);
      const kept = await readableRecords(database);
      expect(JSON.stringify(kept)).not.toContain(secret.slice(6, 30));
    }
    expect((await running.admin.call<{ data: object[] }>('GET', path())).data).toHaveLength(2);
  });

  it('signs together with its successor for a day, or for the overlap of the rotation', async () => {
    const first = await create();
    const second = await rotate(first.id);
    const expires = second.public_keys.map(({ expires_at: at }) => at && Date.parse(at));
    expect(expires).toEqual([null, running.clock.now() + DAY_MS]);
    running.clock.advance(DAY_MS - 1);
    expect((await keysOf(first.id)).secrets).toEqual([second.secret, first.secret]);
    running.clock.advance(1);
    expect((await keysOf(first.id)).secrets).toEqual([second.secret]);
    const third = await rotate(first.id, { overlap_seconds: 0 });
    expect((await keysOf(first.id)).secrets).toEqual([third.secret]);
    expect(await new WebhookSecrets(database.db, BOX).deleteExpired(running.clock.now())).toBe(2);
    expectProblem(
      await post(`/webhook-endpoints/${first.id}/rotate-secret`, { overlap_seconds: 604_801 }),
      'validation_failed',
    );
  });

  it('is one of at most three, and ends all previous ones if rotated without overlap', async () => {
    const { id } = await create();
    const secrets: string[] = [];
    for (let count = 0; count < 2; count++) secrets.unshift((await rotate(id)).secret);
    expectProblem(await post(`/webhook-endpoints/${id}/rotate-secret`, {}), 'previous_secret_active');
    expect((await keysOf(id)).secrets.slice(0, 2)).toEqual(secrets);
    const next = { end_previous_secret: true };
    for (let count = 0; count < 2; count++) secrets.unshift((await rotate(id, next)).secret);
    expect((await keysOf(id)).secrets).toEqual(secrets.slice(0, 3));
    const last = await rotate(id, { overlap_seconds: 0 });
    expect((await keysOf(id)).secrets).toEqual([last.secret]);
  });

  it('signs alone once the previous ones are ended, and ending them again changes nothing', async () => {
    const { id } = await create();
    for (let count = 0; count < 2; count++) await rotate(id);
    const [current] = (await keysOf(id)).secrets;
    const path = `/webhook-endpoints/${id}/end-previous-secret`;
    const stale = await post(path, {}, { 'If-Match': '"1"' });
    expectProblem(stale, 'precondition_failed');
    const ended = await post(path, {});
    expect(ended.json()).toMatchObject({ version: 4, public_keys: [{ expires_at: null }] });
    expect((await keysOf(id)).secrets).toEqual([current]);
    expect((await post(path, {})).json()).toEqual(ended.json());
    const log = await running.admin.call<{ data: { action: string }[] }>('GET', '/audit-log?limit=1');
    expect(log.data[0]?.action).toBe('webhook_endpoint.previous_secret_ended');
  });

  it('can be supplied by the caller, but for only one endpoint of all accounts', async () => {
    expect((await create({ secret: SUPPLIED })).secret).toBe(SUPPLIED);
    const other = await running.admin.createAccount({ plan: 'starter' });
    for (const to of [path(), `/accounts/${other.id}/webhook-endpoints`]) {
      expectProblem(await post(to, { url: URL, secret: SUPPLIED }), 'webhook_secret_in_use');
    }
    const { id, version } = await create();
    expectProblem(await post(`/webhook-endpoints/${id}/rotate-secret`, { secret: SUPPLIED }), 'webhook_secret_in_use');
    // The failed rotation left nothing behind, and the current secret stays valid.
    const shown = await running.admin.call<MadeEndpoint>('GET', `/webhook-endpoints/${id}`);
    expect([shown.version, shown.public_keys]).toEqual([version, [expect.objectContaining({ expires_at: null })]]);
    expect((await running.admin.call<{ data: object[] }>('GET', path())).data).toHaveLength(2);
  });

  it('is not rotated on an outdated version', async () => {
    const { id } = await create();
    await rotate(id);
    const late = await post(`/webhook-endpoints/${id}/rotate-secret`, {}, { 'If-Match': '"1"' });
    expectProblem(late, 'precondition_failed');
    expect((await keysOf(id)).secrets).toHaveLength(2);
  });

  it('is not created without a sealing key, and the request leaves nothing behind', async () => {
    const { id } = await create();
    await running.close();
    running = await startAdmin(database, { secretBox: null });
    expectProblem(await post(path(), { url: URL }), 'secrets_unavailable');
    expectProblem(await post(`/webhook-endpoints/${id}/rotate-secret`, {}), 'secrets_unavailable');
    expect((await running.admin.call<{ data: object[] }>('GET', path())).data).toHaveLength(1);
    // Requests that need no secret still work.
    expect((await running.admin.request('PATCH', `/webhook-endpoints/${id}`, { status: 'paused' })).status).toBe(200);
    await expect(keysOf(id, null)).rejects.toMatchObject({ code: 'secrets_unavailable' });
  });

  it('cannot be opened with another key or in another row, and then signs nothing', async () => {
    const [one, other] = [await create(), await create()];
    await expect(keysOf(one.id, new SecretBox(Buffer.alloc(32, 3)))).rejects.toMatchObject({
      code: 'secrets_unavailable',
    });
    const { secret, seed } = await database.db
      .selectFrom('webhook_secret')
      .select(['secret', 'seed'])
      .where('endpoint_id', '=', other.id)
      .executeTakeFirstOrThrow();
    for (const swapped of [{ secret }, { seed }, { secret: seed, seed: secret }]) {
      await database.db.updateTable('webhook_secret').set(swapped).where('endpoint_id', '=', one.id).execute();
      await expect(keysOf(one.id)).rejects.toMatchObject({ code: 'secrets_unavailable' });
    }
  });
});
