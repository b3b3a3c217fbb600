/** Deleting an account erases its keys, names and addresses from every table. Data of other accounts stays. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { compileDataSchema } from '../../src/config/data-schema.js';
import { OWN_EVENTS } from '../../src/outbox/own-events.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { Tables } from '../../src/stores/database/schema.js';
import { AccountDeletion, type AccountDeletionParts } from '../../src/members/account-deletion.js';
import type { WorkSignal } from '../../src/outbox/work-signal.js';
import type { Modules } from '../../src/program/modules.js';
import { insertRows } from '../../src/stores/database/json-rows.js';
import { addNotice } from '../../src/mail/mail-outbox.js';
import { RequestLogWriter } from '../../src/request-logs/request-log-writer.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { requestLogRow } from '../support/request-logs.js';
import { newMember } from '../support/signed-in.js';
import { OPERATOR } from '../support/stores.js';
import { addEndpoint, deliveriesIn } from '../support/webhooks.js';

/** Returns the parts with which the program opened its deletion. */
function deletionPartsOf({ accountDeletion }: Modules): AccountDeletionParts {
  return (accountDeletion as unknown as { readonly parts: AccountDeletionParts }).parts;
}

const HOUR_MS = 3_600_000;
const NAME = 'Palmyra Caravans';
const PERSONAL = /palmyra|zenobia|203\.0\.113\.77|tadmor/i;
const TABLES = [
  'account',
  'account_deletion',
  'account_member',
  'account_token',
  'api_key',
  'api_key_secret',
  'audit_entry',
  'event',
  'idempotent_request',
  'link',
  'mail',
  'member',
  'member_session',
  'oauth_object',
  'quota_adjustment',
  'quota_counter',
  'request_log',
  'usage_daily',
  'webhook_delivery',
  'webhook_endpoint',
] as const satisfies readonly (keyof Tables)[];

describeOnDatabases('account deletion', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;

  beforeAll(async () => {
    database = await testDatabase(kind);
    running = await startAdmin(database);
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const rowsOf = (table: (typeof TABLES)[number]) => database.db.selectFrom(table).selectAll().execute();
  /** Returns all stored rows as text, with base64 bodies decoded. */
  async function stored(): Promise<string> {
    const rows = await Promise.all(TABLES.map(rowsOf));
    const bodies = (await rowsOf('idempotent_request')) as readonly { body: string | null }[];
    return JSON.stringify([rows, bodies.map(({ body }) => Buffer.from(body ?? '', 'base64').toString())]);
  }
  /** Returns the deletion of the program on another handle of its database. */
  const deletionWith = (handle: DatabaseHandle, change: Partial<AccountDeletionParts> = {}) =>
    new AccountDeletion({ ...deletionPartsOf(running.modules), database: handle, ...change });
  const remove = (id: string, name: string) => running.admin.request('DELETE', `/accounts/${id}`, { name });

  /** Creates an account with keys, members, mail, usage, a request log and stored responses. */
  async function account() {
    const created = await send(`${running.url}/admin/v1/accounts`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Idempotency-Key': 'first account' },
      body: { name: NAME, plan: 'starter' },
    });
    const { id } = created.json() as { id: string };
    const { id: other } = await running.admin.createAccount({ plan: 'starter' });
    const key = await running.admin.call<{ id: string }>('POST', `/accounts/${id}/api-keys`, {
      name: 'Tadmor gate',
      scopes: ['customers:read'],
    });
    const only = await newMember(database, { email: 'zenobia@tadmor.example', roles: { [id]: 'owner' } });
    const both = await newMember(database, { roles: { [id]: 'owner', [other]: 'owner' } });
    await running.admin.call('POST', `/accounts/${id}/invitations`, {
      email: 'odaenathus@tadmor.example',
      role: 'viewer',
    });
    await running.admin.call('PATCH', `/accounts/${id}`, { name: `${NAME} and Sons` });
    const at = running.clock.now();
    const log = new RequestLogWriter(database.db, kind);
    await log.write([requestLogRow({ accountId: id, keyId: key.id, ip: '203.0.113.77', at, seq: 1 })]);
    const usage = { day: 20261120, period: 20261101, operation: 'listCustomers', outcome: 'ok', updated_at: at };
    for (const accountId of [id, other]) {
      const of = { ...usage, account_id: accountId, api_key_id: key.id, requests: 7, cost: 7 };
      await database.db.insertInto('usage_daily').values(of).execute();
    }
    const claim = { fingerprint: 'f', owner: 'o', leased_until: 0, status: 201, body_hash: '', code: '', fields: '' };
    const body = Buffer.from('Zenobia').toString('base64');
    const request = { ...claim, api_key_id: key.id, key_hash: 'h', body, expires_at: at + HOUR_MS };
    await database.db.insertInto('idempotent_request').values(request).execute();
    return { id, other, keyId: key.id, only, both };
  }

  it('requires the current account name, and then erases all personal data of the account', async () => {
    const { id, other, keyId, only, both } = await account();
    expect(await stored()).toMatch(PERSONAL);
    const refused = await remove(id, NAME);
    expect([refused.status, refused.json()]).toMatchObject([409, { errors: [{ pointer: '#/name' }] }]);
    expect((await running.admin.request('GET', `/api-keys/${keyId}`)).status).toBe(200);

    expect((await remove(id, `${NAME} and Sons`)).status).toBe(204);
    expect(await stored()).not.toMatch(PERSONAL);
    for (const path of [`/accounts/${id}`, `/api-keys/${keyId}`, `/accounts/${id}/members`]) {
      expect([path, (await running.admin.request('GET', path)).status]).toEqual([path, 404]);
    }
    expect((await remove(id, '')).status).toBe(404);

    const entries = await database.db.selectFrom('audit_entry').selectAll().where('account_id', '=', id).execute();
    expect(entries.map(({ action }) => action)).toEqual(expect.arrayContaining(['account.created', 'account.deleted']));
    for (const { before, after, ip, actor_label: label } of entries) {
      expect([before, after, ip, label]).toEqual([null, null, '', null]);
    }
    const members = database.db.selectFrom('member').select('removed_at');
    expect((await members.where('id', '=', only).executeTakeFirst())?.removed_at).toEqual(expect.any(Number));
    expect((await members.where('id', '=', both).executeTakeFirst())?.removed_at).toBeNull();
    const usage = (await rowsOf('usage_daily')) as readonly { account_id: string }[];
    expect(usage.map((row) => row.account_id)).toEqual([other]);
  });

  it('rejects imports into the account while it is in progress, and removes an owner who joins meanwhile', async () => {
    const { id } = await running.admin.createAccount({ plan: 'starter' });
    const { name } = await running.admin.call<{ name: string }>('GET', `/accounts/${id}`);
    // With an endpoint, the account remains until its last event is sent.
    await addEndpoint(database.db, running.clock.now(), { account_id: id });
    await running.admin.call('POST', `/accounts/${id}/invitations`, { email: 'late@example.com', role: 'owner' });
    expect((await remove(id, name)).status).toBe(204);
    expect(await database.db.selectFrom('link').select('id').where('account_id', '=', id).execute()).toEqual([]);

    const record = {
      type: 'api_key',
      account_id: id,
      name: 'Back',
      scopes: ['*'],
      secret: 'a-secret-of-another-gateway-1',
    };
    const imported = await running.admin.call<{ data: object[] }>('POST', '/imports', { records: [record] });
    expect(imported.data).toMatchObject([{ outcome: 'failed', reason: expect.stringContaining('is being deleted') }]);

    const late = await newMember(database, { roles: { [id]: 'owner' } });
    await running.modules.accountDeletion.continueAll();
    const members = database.db.selectFrom('account_member').select('role').where('account_id', '=', id);
    expect(await members.execute()).toEqual([]);
    expect((await database.db.selectFrom('member').select('removed_at').where('id', '=', late).executeTakeFirst())?.removed_at).toEqual(expect.any(Number)); // prettier-ignore
  });

  it('queues account.deleted for the endpoints of the account, and keeps them for at most an hour', async () => {
    const labels = { external_id: 'tadmor-1', metadata: { caravan: 'Palmyra' } };
    const { id } = await running.admin.createAccount({ plan: 'starter', name: NAME, ...labels });
    const url = 'https://tadmor.example/hooks';
    const endpointId = await addEndpoint(database.db, running.clock.now(), { account_id: id, url });
    expect((await remove(id, NAME)).status).toBe(204);
    expect((await running.admin.request('GET', `/accounts/${id}`)).status).toBe(404);
    const waiting = (await deliveriesIn(database.db)).filter((each) => each.endpoint_id === endpointId);
    expect(waiting).toHaveLength(1);
    const events = await database.db.selectFrom('event').selectAll().where('account_id', '=', id).execute();
    expect(events.map(({ type, data }) => [type, JSON.parse(data)])).toEqual([
      [
        'account.deleted',
        { account: { id, name: NAME, plan: 'starter', status: 'suspended', ...labels }, actor: 'operator' },
      ],
    ]);

    const check = await compileDataSchema({ ...OWN_EVENTS['account.deleted']!.schema });
    expect(check(JSON.parse(events[0]?.data ?? ''))).toBeUndefined();
    // The name and labels of the account are in the event only.
    const row = await database.db.selectFrom('account').selectAll().where('id', '=', id).executeTakeFirst();
    expect(row).toMatchObject({ name: '', external_id: null, metadata: null });

    running.clock.advance(HOUR_MS - 1);
    await running.modules.accountDeletion.continueAll();
    expect(await stored()).toContain(url);
    running.clock.advance(1);
    await running.modules.accountDeletion.continueAll();
    expect(await stored()).not.toMatch(PERSONAL);
    expect(await database.db.selectFrom('account_deletion').selectAll().execute()).not.toContainEqual(
      expect.objectContaining({ account_id: id }),
    );
  });

  it('erases request logs that another process writes after the deletion', async () => {
    const { id } = await running.admin.createAccount({ plan: 'starter', name: NAME });
    expect((await remove(id, NAME)).status).toBe(204);
    const at = running.clock.now();
    const late = requestLogRow({ accountId: id, ip: '203.0.113.77', at, seq: 2 });
    await new RequestLogWriter(database.db, kind).write([late]);
    await running.modules.accountDeletion.continueAll();
    expect(await stored()).not.toMatch(PERSONAL);
  });

  it('erases a response that was stored after its key was deleted', async () => {
    const { id, keyId } = await account();
    expect((await remove(id, `${NAME} and Sons`)).status).toBe(204);
    const claim = { fingerprint: 'f', owner: 'o', leased_until: 0, status: 201, body_hash: '', code: '', fields: '' };
    const body = Buffer.from('Zenobia').toString('base64');
    const late = { ...claim, api_key_id: keyId, key_hash: 'late', body, expires_at: running.clock.now() + HOUR_MS };
    await database.db.insertInto('idempotent_request').values(late).execute();
    expect(await stored()).toMatch(PERSONAL);
    await running.modules.accountDeletion.continueAll();
    expect(await stored()).not.toMatch(PERSONAL);
  });

  it('erases every stored response that mentions it, reads bounded batches, and keeps those of others', async () => {
    const { id } = await running.admin.createAccount({ plan: 'starter', name: NAME });
    await newMember(database, { email: 'zenobia2@tadmor.example', roles: { [id]: 'owner' } });
    const mentions = [{ account_id: id }, { name: NAME }, { sent: [{ to: 'zenobia2@tadmor.example' }] }, undefined];
    const others = [{ name: `${NAME} II` }, { account_id: 'acc_other' }, { name: '"' }];
    const claim = { fingerprint: 'f', leased_until: 0, status: 201, body_hash: '', code: '', expires_at: HOUR_MS };
    const rows = Array.from({ length: 901 }, (_, at) => {
      const isMention = at % 3 === 0;
      const content = isMention ? mentions[at % 4] : others[at % 3];
      return {
        ...claim,
        api_key_id: ['operator', `mem_${at}`, `acc_${at}`, `portal:ses_${at}`, `tok_${at}`][at % 5]!,
        key_hash: `text ${at}`,
        owner: isMention ? 'mention' : 'other',
        fields: content === undefined ? `Location: /admin/v1/accounts/${id}/tokens\r\n` : null,
        body: content === undefined ? '' : Buffer.from(JSON.stringify(content)).toString('base64'),
      };
    });
    await insertRows(database.db, kind, 'idempotent_request', rows);
    const ownersOf = async () => {
      const kept = database.db.selectFrom('idempotent_request').select('owner').where('key_hash', 'like', 'text %');
      return (await kept.execute()).map(({ owner }) => owner);
    };
    expect(new Set(await ownersOf())).toEqual(new Set(['mention', 'other']));

    const counts: number[] = [];
    const db = database.db.withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        counts.push(result.rows.length);
        return result;
      },
    });
    await deletionWith({ ...database, db }).delete(id, NAME, OPERATOR);
    expect(await ownersOf()).toEqual(Array.from({ length: 600 }, () => 'other'));
    expect(Math.max(...counts)).toBe(200);
    await database.db.deleteFrom('idempotent_request').where('owner', '=', 'other').execute();
    expect(await stored()).not.toMatch(PERSONAL);
  });

  it('that ends after its first transaction is continued: stored responses and its own texts are erased', async () => {
    const { id, both } = await account();
    const lost = new Error('the process ends');
    const signal = {
      signalEndpoints: () => {
        throw lost;
      },
    };
    const deletion = deletionWith(database, { signal: signal as unknown as WorkSignal });
    await expect(deletion.delete(id, `${NAME} and Sons`, OPERATOR)).rejects.toBe(lost);
    const bodies = async () => JSON.parse(await stored())[1] as string[];
    expect(JSON.stringify(await bodies())).toContain(id);
    await running.modules.accountDeletion.continueAll();
    expect(JSON.stringify(await bodies())).not.toContain(id);
    expect(await stored()).not.toMatch(PERSONAL);
    const member = database.db.selectFrom('member').select('removed_at').where('id', '=', both);
    expect((await member.executeTakeFirst())?.removed_at).toBeNull();
  });

  it('erases a member of two accounts that are deleted at the same time', async () => {
    for (let attempt = 0; attempt < 5; attempt++) {
      const names = [`Palmyra ${attempt}`, `Tadmor ${attempt}`];
      const ids = await Promise.all(
        names.map(async (name) => (await running.admin.createAccount({ plan: 'starter', name })).id),
      );
      const roles = Object.fromEntries(ids.map((id) => [id, 'owner' as const]));
      const member = await newMember(database, { email: `zenobia${attempt}@tadmor.example`, roles });
      const answers = await Promise.all(ids.map((id, at) => remove(id, names[at]!)));
      expect(answers.map(({ status }) => status)).toEqual([204, 204]);
      const row = database.db.selectFrom('member').select('removed_at').where('id', '=', member);
      expect((await row.executeTakeFirst())?.removed_at).toEqual(expect.any(Number));
    }
    expect(await stored()).not.toMatch(PERSONAL);
  });

  it('erases queued mail that names the account, also to members of other accounts', async () => {
    const { id, both } = await account();
    const to = { name: 'Both', address: 'both@example.com' };
    const names = { accountId: id, accountName: NAME, endpointId: 'whe_1', host: 'h' };
    const content = { kind: 'webhook_disabled', ...names, reason: 'gone' } as const;
    await addNotice(database.db, { to, locale: 'en', content }, running.clock.now());
    expect((await remove(id, `${NAME} and Sons`)).status).toBe(204);
    const notices = database.db.selectFrom('mail').select('id').where('to_address', '=', to.address);
    expect(await notices.execute()).toEqual([]);
    const member = database.db.selectFrom('member').select('removed_at').where('id', '=', both);
    expect((await member.executeTakeFirst())?.removed_at).toBeNull();
  });
});
