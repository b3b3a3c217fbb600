/** Links use the configured address, whatever headers a request has. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { send } from '../support/http.js';
import { memberWithPassword, PanelBrowser } from '../support/signed-in.js';

const PANEL = 'https://panel.example.com';
/** Headers that some framework would trust, with or without a trusted proxy. */
const LIES: readonly Readonly<Record<string, string>>[] = [
  { 'X-Forwarded-Host': 'evil.example' },
  { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'http', 'X-Forwarded-Port': '81' },
  { Forwarded: 'host=evil.example;proto=http' },
  { 'X-Original-Host': 'evil.example', 'X-Host': 'evil.example', 'X-HTTP-Host-Override': 'evil.example' },
  { 'X-Original-URL': '//evil.example/', 'X-Rewrite-URL': '//evil.example/' },
  { Referer: 'https://evil.example/link' },
  { Host: 'localhost' },
  { Host: 'localhost:81' },
];
const FOREIGN_HOSTS = [
  'evil.example',
  'panel.example.com.evil.example',
  'panel.example.com@evil.example',
  'evil.example#panel.example.com',
  'panel.example.com:81@evil.example',
  'panel.example.com evil.example',
  'panel.example.com,evil.example',
  'localhost.evil.example',
];

describe('a link', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase('sqlite');
    const portal = { returnOrigins: ['https://app.example.com'] };
    running = await startAdmin(database, { settings: { url: PANEL, trustedProxies: ['127.0.0.1'], portal } });
    accountId = (await running.admin.createAccount({ plan: 'starter' })).id;
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const post = (path: string, body: object | undefined, headers: Readonly<Record<string, string>>) =>
    send(`${running.url}/admin/v1${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  const portalBody = (returnUrl: string) => ({ account_id: accountId, role: 'viewer', return_url: returnUrl });

  it('of every kind uses admin.url, whatever host and scheme the request headers claim', async () => {
    const { id } = await memberWithPassword(database, running);
    let count = 0;
    for (const lie of LIES) {
      const invitation = { email: `somebody-${count++}@example.com`, role: 'viewer' };
      const answers = [
        await post(`/accounts/${accountId}/invitations`, invitation, lie),
        await post(`/members/${id}/password-reset-links`, undefined, lie),
        await post('/portal-sessions', portalBody('https://app.example.com/'), lie),
      ];
      for (const { status, text } of answers) {
        expect([lie, status]).toEqual([lie, 201]);
        const { link, url } = JSON.parse(text) as { link?: string; url?: string };
        expect(link ?? url).toMatch(/^https:\/\/panel\.example\.com\/link#[\w-]{43}$/);
        expect(text).not.toContain('evil');
      }
    }
  });

  it.each(FOREIGN_HOSTS)('is not created for a request with the host %s', async (host) => {
    const answer = await post('/portal-sessions', portalBody('https://app.example.com/'), { Host: host });
    expect([400, 421]).toContain(answer.status);
    expect(answer.text).not.toContain('link#');
  });

  it.each([
    'https://evil.example/',
    'https://app.example.com.evil.example/',
    'https://app.example.com@evil.example/',
    'https://app.example.com%40evil.example/',
    'https://evil.example\\@app.example.com',
    'https://app.example.com:444/',
    'http://app.example.com/',
    '//app.example.com/',
    'javascript:alert(1)//https://app.example.com',
    'data:text/html,https://app.example.com',
    '\thttps://evil.example/',
    'https:evil.example',
  ])('of a portal is rejected with the unconfigured return URL %j', async (returnUrl) => {
    const answer = await post('/portal-sessions', portalBody(returnUrl), {});
    expect([answer.status, answer.json().code]).toEqual([422, 'validation_failed']);
  });

  it('back from an identity provider redirects within the panel, despite return_to', async () => {
    const way = '/sign-in/providers/company';
    const other = await startAdmin(database, {
      settings: {
        signIn: {
          providers: {
            // Nothing listens there, because the provider is not needed for the redirect.
            company: { issuer: 'http://127.0.0.1:9', clientId: 'x', clientSecret: 'y'.repeat(20), label: 'Company' },
          },
        },
      },
    });
    try {
      const own = new PanelBrowser(other.url);
      const callback = await own.ask('GET', `${way}/callback?state=x&code=y&return_to=https://evil.example`);
      expect([callback.status, callback.headers.location]).toEqual([303, '/sign-in?problem=sign_in_ended']);
    } finally {
      await other.close();
    }
  });
});
