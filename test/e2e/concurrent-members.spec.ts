/**
 * Two administrators manage the same members at once. The second learns what the first has changed. A request that
 * creates an invitation, link or token can be repeated. Nothing is created twice, and no secret is stored. Runs on
 * SQLite and PostgreSQL.
 */
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { readableRecords } from '../support/record-stores.js';
import { describeOnDatabases } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { newMember } from '../support/signed-in.js';

const RETURN_URL = 'https://app.example.com/';
let count = 0;

describeOnDatabases('members', (kind) => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let withMail: RunningAdmin;
  let accountId: string;
  let memberId: string;

  beforeAll(async () => {
    database = await testDatabase(kind);
    const portal = { returnOrigins: ['https://app.example.com'] };
    running = await startAdmin(database, { settings: { portal } });
    const mail = { url: 'smtp://localhost', from: 'no-reply@example.com' };
    withMail = await startAdmin(database, { settings: { mail } });
  });
  afterAll(async () => {
    await running.close();
    await withMail.close();
    await database.close();
  });
  beforeEach(async () => {
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
    await newMember(database, { roles: { [accountId]: 'owner' } });
    memberId = await newMember(database, { roles: { [accountId]: 'admin' } });
  });

  const ask = (
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: object,
    { url } = running,
  ): Promise<Answer> =>
    send(`${url}/admin/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const etagOf = (answer: Answer) => String(answer.headers['etag']);

  it('reject an edit of an outdated version with 412, the changed field, by whom and when', async () => {
    const path = `/members/${memberId}`;
    const read = await ask('GET', path);
    const seen = etagOf(read);
    expect(read.json().version).toBe(1);
    expect((await ask('GET', path, { 'If-None-Match': seen })).status).toBe(304);
    expect((await ask('PATCH', path, { 'If-Match': seen }, { name: 'Ana Maria' })).status).toBe(200);
    // Setting the current value again is no conflict.
    expect((await ask('PATCH', path, { 'If-Match': seen }, { name: 'Ana Maria' })).status).toBe(200);
    const refused = await ask('PATCH', path, { 'If-Match': seen }, { status: 'disabled' });
    expect(expectProblem(refused, 'precondition_failed').errors).toMatchObject([
      { pointer: '#/name', changed_by: 'operator', changed_at: expect.any(String) },
    ]);
    expect(await running.admin.call('GET', path)).toMatchObject({ status: 'active', name: 'Ana Maria', version: 2 });
    const now = etagOf(await ask('GET', path));
    expect((await ask('PATCH', path, { 'If-Match': now }, { status: 'disabled' })).status).toBe(200);
    for (const wrong of ['2', 'W/"2"']) {
      expectProblem(await ask('PATCH', path, { 'If-Match': wrong }, { name: 'x' }), 'bad_request');
    }
  });

  it('have a version in each account, independent of their own version', async () => {
    const path = `/accounts/${accountId}/members/${memberId}`;
    const listed = await running.admin.call<{ data: { id: string; version: number }[] }>(
      'GET',
      `/accounts/${accountId}/members`,
    );
    expect(listed.data.find(({ id }) => id === memberId)?.version).toBe(1);
    await running.admin.call('PATCH', `/members/${memberId}`, { name: 'Other' });
    const first = await ask('PATCH', path, { 'If-Match': '"1"' }, { role: 'viewer' });
    expect([first.status, first.json().version]).toEqual([200, 2]);
    const second = await ask('PATCH', path, { 'If-Match': '"1"' }, { role: 'owner' });
    expect(expectProblem(second, 'precondition_failed').errors).toMatchObject([
      { pointer: '#/role', changed_by: 'operator' },
    ]);
    expectProblem(await ask('DELETE', path, { 'If-Match': '"1"' }), 'precondition_failed');
    expect((await ask('DELETE', path, { 'If-Match': etagOf(first) })).status).toBe(200);
  });

  it('accept one of two simultaneous role changes, and reject the other with 412', async () => {
    const path = `/accounts/${accountId}/members/${memberId}`;
    const both = await Promise.all(
      ['viewer', 'owner'].map((role) => ask('PATCH', path, { 'If-Match': '"1"' }, { role })),
    );
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412]);
  });

  /** Returns create requests. Each comes with the expected Location and the advice on how to get a new secret. */
  const made = () => {
    const n = ++count;
    const expires = new Date(running.clock.now() + 86_400_000).toISOString();
    const email = `${kind}-${n}@example.com`;
    return [
      ['/members', { email, name: 'Gil' }, /^\/admin\/v1\/members\/mem_/, /another password link/],
      [`/members/${memberId}/password-reset-links`, undefined, /^\/admin\/v1\/members\/mem_/, /another password link/],
      [`/accounts/${accountId}/invitations`, { email, role: 'viewer' }, /\/invitations$/, /resend the invitation/],
      [
        `/accounts/${accountId}/tokens`,
        { name: 'CI', role: 'viewer', expires_at: expires },
        /\/tokens$/,
        /revoke the token/,
      ],
      [
        '/portal-sessions',
        { account_id: accountId, role: 'viewer', return_url: RETURN_URL },
        /^undefined$/,
        /repeat the request with a new key/,
      ],
    ] as const;
  };

  it('and their links and tokens are created once: a repeated request gets the location but no secret', async () => {
    for (const [path, body, location, advice] of made()) {
      const key = { 'Idempotency-Key': `key-${++count}-${kind}` };
      const first = await ask('POST', path, key, body);
      expect([path, first.status]).toEqual([path, 201]);
      const again = await ask('POST', path, key, body);
      const problem = expectProblem(again, 'idempotency_secret_shown');
      expect([path, problem.detail]).toEqual([path, expect.stringMatching(advice)]);
      const said = again.headers['location'];
      expect([path, String(said)]).toEqual([path, expect.stringMatching(location)]);
      const secret = /(?:#|tga_)([\w-]{36,43})/.exec(first.text)?.[1] ?? 'none';
      expect(JSON.stringify(await readableRecords(database))).not.toContain(secret);
      expect(again.text).not.toContain(secret);
      expectProblem(await ask('POST', path, key, { ...body, name: 'other' }), 'idempotency_mismatch');
    }
    const invitations = await running.admin.call<{ data: object[] }>('GET', `/accounts/${accountId}/invitations`);
    expect(invitations.data).toHaveLength(1);
  });

  it('whose link goes out by mail are created once, and a repeated request gets the same response', async () => {
    for (const [path, body] of made().slice(0, 3)) {
      const key = { 'Idempotency-Key': `key-${++count}-${kind}` };
      const [first, again] = [
        await ask('POST', path, key, body, withMail),
        await ask('POST', path, key, body, withMail),
      ];
      expect([path, first.status, again.status, again.json()]).toEqual([path, 201, 201, first.json()]);
      expect(again.headers['idempotent-replayed']).toBe('true');
    }
    expect(
      await database.db.selectFrom('link').select('id').where('account_id', '=', accountId).execute(),
    ).toHaveLength(1);
  });

  it('are invited in the requested language, else in their own, else in English', async () => {
    const languageOf = async (fields: object, headers: Record<string, string> = {}) => {
      const body = { email: `${kind}-${++count}@example.com`, role: 'viewer', ...fields };
      const answer = await ask('POST', `/accounts/${accountId}/invitations`, headers, body, withMail);
      const { id } = answer.json<{ id: string }>();
      const again = await ask('POST', `/invitations/${id}/resend`, headers, undefined, withMail);
      const ids = [id, again.json<{ id: string }>().id];
      const mails = await database.db.selectFrom('mail').select('locale').where('link_id', 'in', ids).execute();
      return mails.map(({ locale }) => locale);
    };
    expect(await languageOf({})).toEqual(['en', 'en']);
    expect(await languageOf({ locale: 'es' })).toEqual(['es', 'es']);
    const [spanish, english] = [`es-${kind}@example.com`, `en-${kind}@example.com`];
    const knows = await newMember(database, { email: spanish });
    const own = { locale: 'es', email_verified_at: 1 } as const;
    await database.db.updateTable('member').set(own).where('id', '=', knows).execute();
    expect(await languageOf({ email: spanish })).toEqual(['es', 'es']);
    expect(await languageOf({ email: spanish, locale: 'en' })).toEqual(['en', 'en']);
    expect(await languageOf({ email: english })).toEqual(['en', 'en']);
    expectProblem(
      await ask('POST', `/accounts/${accountId}/invitations`, {}, { email: english, role: 'viewer', locale: 'fr' }),
      'validation_failed',
    );
  });

  it('of a portal session have a distinct actor in the audit log, whatever their name is', async () => {
    const { key, account } = await running.admin.newKey('starter');
    const actors = [];
    for (const name of ['operator', 'operator', '']) {
      const body = {
        account_id: account.id,
        role: 'admin',
        return_url: RETURN_URL,
        ...(name === '' ? {} : { member_name: name }),
      };
      const { id, url } = await running.admin.call<{ id: string; url: string }>('POST', '/portal-sessions', body);
      const taken = await send(`${running.url}/admin/v1/links/take`, {
        method: 'POST',
        headers: { 'Sec-Fetch-Site': 'same-origin' },
        body: { token: url.split('#')[1] },
      });
      const { me } = taken.json<{ me: { csrf_token: string; session: { id: string } } }>();
      const cookie = String(taken.headers['set-cookie']?.[0]).split(';')[0] ?? '';
      const headers = { Cookie: cookie, 'X-CSRF-Token': me.csrf_token, 'Sec-Fetch-Site': 'same-origin' };
      await send(`${running.url}/admin/v1/api-keys/${key.id}`, {
        method: 'PATCH',
        headers,
        body: { name: `n${actors.length}` },
      });
      const entries = database.db.selectFrom('audit_entry').selectAll().orderBy('id', 'desc').limit(2);
      const [changed, begun] = await entries.execute();
      expect([changed?.action, changed?.actor, changed?.actor_label]).toEqual([
        'api_key.updated',
        `portal:${me.session.id}`,
        name || null,
      ]);
      expect([begun?.action, begun?.target_id, begun?.actor]).toEqual(['portal_session.begun', id, changed?.actor]);
      actors.push(changed?.actor);
    }
    expect(new Set(actors).size).toBe(3);
  });
});
