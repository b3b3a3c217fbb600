/** Pages of other sites cannot send requests as a signed-in person, nor sign their visitor in (CSRF). */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { GOOD_PASSWORD, memberWithPassword, newMember, signIn, type Credentials } from '../support/signed-in.js';

describe('a browser request', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let own: Credentials;
  let others: Credentials;

  beforeAll(async () => {
    database = await testDatabase('sqlite');
    running = await startAdmin(database);
    own = await signIn(running, await newMember(database, { isOperator: true }));
    others = await signIn(running, await newMember(database, { isOperator: true }));
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const create = (
    headers: Readonly<Record<string, string | undefined>>,
    body: object | string = { name: 'X', plan: 'starter' },
  ) => {
    const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return send(`${running.url}/admin/v1/accounts`, { method: 'POST', headers: Object.fromEntries(given), body });
  };
  const accounts = async () =>
    (await running.admin.call<{ data: unknown[] }>('GET', '/accounts?limit=100')).data.length;

  it('is accepted from the panel on every name of this machine', async () => {
    const port = running.port;
    for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`]) {
      expect((await create({ ...own, Origin: origin })).status).toBe(201);
      expect((await create({ ...own, Origin: origin, 'Sec-Fetch-Site': undefined })).status).toBe(201);
    }
    expect((await create(own)).status).toBe(201);
  });

  it.each<[string, (port: number) => Readonly<Record<string, string | undefined>>]>([
    ['another origin', () => ({ Origin: 'https://evil.example' })],
    [
      'another origin, as an older browser says it',
      () => ({ Origin: 'https://evil.example', 'Sec-Fetch-Site': undefined }),
    ],
    ['another port of this machine', (port) => ({ Origin: `http://localhost:${port + 1}` })],
    ['the same host over another scheme', (port) => ({ Origin: `https://localhost:${port}` })],
    ['a page without an origin', () => ({ Origin: 'null' })],
    ['something that is no origin', (port) => ({ Origin: `http://localhost:${port}/` })],
    ['another site', () => ({ 'Sec-Fetch-Site': 'cross-site' })],
    ['another host of the site', () => ({ 'Sec-Fetch-Site': 'same-site' })],
    ['the address bar', () => ({ 'Sec-Fetch-Site': 'none' })],
    ['nowhere', () => ({ 'Sec-Fetch-Site': undefined })],
    ['the panel without its token', () => ({ 'X-CSRF-Token': undefined })],
    ['the panel with an empty token', () => ({ 'X-CSRF-Token': '' })],
  ])('is refused from %s, and changes nothing', async (_where, headers) => {
    const before = await accounts();
    const answer = await create({ ...own, ...headers(running.port) });
    expect([answer.status, answer.json().code]).toEqual([403, 'cross_site_request']);
    expect(await accounts()).toBe(before);
  });

  it('is refused with the token of another session', async () => {
    const answer = await create({ ...own, 'X-CSRF-Token': others['X-CSRF-Token'] });
    expect([answer.status, answer.json().code]).toEqual([403, 'cross_site_request']);
  });

  it('is refused with the content type of a form', async () => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const form = { ...own, 'Content-Type': type };
      expect((await create({ ...form, Origin: 'https://evil.example' }, '{"name":"X","plan":"starter"}')).status).toBe(
        403,
      );
      expect((await create(form, '{"name":"X","plan":"starter"}')).status).toBe(415);
    }
  });

  it('cannot sign in or use a link from another site', async () => {
    const { email } = await memberWithPassword(database, running);
    const calls = [
      ['sign-in/password', { email, password: GOOD_PASSWORD }],
      ['links/take', { token: 'x' }],
      ['links/read', { token: 'x' }],
    ] as const;
    for (const [path, body] of calls) {
      for (const headers of [{ Origin: 'https://evil.example' }, { 'Sec-Fetch-Site': 'cross-site' }, {}]) {
        const answer = await send(`${running.url}/admin/v1/${path}`, { method: 'POST', headers, body });
        expect([path, answer.status, answer.headers['set-cookie']]).toEqual([path, 403, undefined]);
        expect(answer.json().code).toBe('cross_site_request');
      }
    }
  });

  it('with a bearer token is accepted from any origin', async () => {
    const answer = await send(`${running.url}/admin/v1/accounts`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${running.admin.token}`, Origin: 'https://evil.example' },
      body: { name: 'X', plan: 'starter' },
    });
    expect(answer.status).toBe(201);
  });

  it('gets no CORS headers', async () => {
    const answer = await send(`${running.url}/admin/v1/me`, { headers: { ...own, Origin: 'https://evil.example' } });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('with GET changes neither accounts nor audit log, except for the record of an export', async () => {
    const { paths } = await running.admin.call<{ paths: Record<string, object> }>('GET', '/openapi.json');
    const account = await running.admin.createAccount({ plan: 'starter' });
    const key = await running.admin.createKey(account.id);
    const state = async () => {
      const { data } = await running.admin.auditLog('?limit=100');
      // An export is recorded, because it reads all data.
      return JSON.stringify([data.filter(({ action }) => action !== 'installation.exported'), await accounts()]);
    };
    const before = await state();
    const reads = Object.entries(paths).filter(([, methods]) => 'get' in methods);
    expect(reads.length).toBeGreaterThan(10);
    for (const [path] of reads) {
      const filled = path
        .replace('/accounts/{id}', `/accounts/${account.id}`)
        .replace('/api-keys/{id}', `/api-keys/${key.id}`);
      await send(running.url + filled.replaceAll(/\{\w+\}/g, 'x'), { headers: own });
    }
    expect(await state()).toBe(before);
  });
});
