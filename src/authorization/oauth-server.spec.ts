/** Tests what the authorization server does with requests before it passes them to the library. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MAX_OPEN, OAuthServerWorld, TRUSTED_NETWORK } from '../../test/support/oauth-server-world.js';
import { Browser, newVerifier } from '../../test/support/oauth-steps.js';
import { eventually } from '../../test/support/processes.js';
import { REQUEST_LIFETIME_MS } from './clients/authorization-requests.js';

let oauth: OAuthServerWorld;
beforeAll(async () => {
  oauth = await OAuthServerWorld.start();
});
afterAll(() => oauth?.stop());

it('an aborted registration is not logged as an error', async () => {
  const { hostname, port } = new URL(oauth.issuer);
  const arrived = once(oauth.server, 'request');
  const socket = connect(Number(port), hostname);
  socket.write('POST /register HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  const [message] = await arrived;
  socket.destroy();
  await eventually('it is over', () => message.closed);
  // Sent afterwards, so that anything the aborted request caused has been logged.
  expect((await oauth.register()).status).toBe(201);
  expect(oauth.logged).toEqual([]);
});

it('refuses a stored parameter longer than 2,048 characters, without a redirect', async () => {
  const clientId = String((await oauth.register()).body['client_id']);
  const ask = (form: object) =>
    oauth.ask(new Browser(), oauth.authorizeUrl(clientId, newVerifier().challenge, { ...form }));
  expect(await ask({ state: 's'.repeat(2_048) })).toEqual(expect.any(String));
  for (const name of ['state', 'ui_locales', 'nonce', 'login_hint']) {
    const refused = (await ask({ [name]: 's'.repeat(2_049) })) as Response;
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null]);
    expect(await refused.json()).toMatchObject({ error: 'invalid_request' });
  }
});

describe('pending authorization requests', () => {
  const { challenge } = newVerifier();
  let clientId: string;
  beforeAll(async () => {
    clientId = String((await oauth.register()).body['client_id']);
  });
  /** The status of a request from an address. */
  const askFrom = async (address: string): Promise<number> => {
    const headers = { 'x-forwarded-for': address };
    const url = oauth.authorizeUrl(clientId, challenge);
    return (await fetch(url, { redirect: 'manual', headers })).status;
  };
  const openRows = async (kind: string): Promise<number> => {
    const rows = oauth.stores.database.db.selectFrom('oauth_object').select('hash').where('kind', '=', kind);
    return (await rows.where('expires_at', '>', oauth.clock.now()).execute()).length;
  };

  it('of three networks, 60 each, evict each other but no request from another network', async () => {
    oauth.clock.advance(REQUEST_LIFETIME_MS);
    const accountId = await oauth.newAccount();
    const before = { browser: new Browser(), id: '' };
    before.id = String(await oauth.ask(before.browser, oauth.authorizeUrl(clientId, challenge)));
    for (let network = 1; network <= 3; network++) {
      const statuses = Array.from({ length: 60 }, () => askFrom(`203.0.113.${100 + network}`));
      expect(new Set(await Promise.all(statuses))).toEqual(new Set([303]));
    }
    expect(await openRows('Interaction')).toBeLessThanOrEqual(MAX_OPEN + 60);
    expect(await openRows('Request')).toBe(await openRows('Interaction'));
    const after = new Browser();
    const id = String(await oauth.ask(after, oauth.authorizeUrl(clientId, challenge)));
    expect(await openRows('Interaction')).toBe(MAX_OPEN);
    for (const [browser, open] of [
      [before.browser, before.id],
      [after, id],
    ] as const) {
      const back = await oauth.comeBack(browser, await oauth.approve(open, accountId));
      expect((back as URLSearchParams).get('code')).toEqual(expect.any(String));
    }
  });

  it('do not store unused parameters or unknown scopes', async () => {
    const scope = `customers:read ${'x'.repeat(5_000)}`;
    const more = { scope, nonce: 'n'.repeat(2_000), login_hint: 'h'.repeat(2_000), claims: '{}' };
    const id = String(await oauth.ask(new Browser(), oauth.authorizeUrl(clientId, challenge, more)));
    const kept = JSON.stringify(await oauth.objects.findPayload('Interaction', id));
    expect(kept).toContain('"scope":"customers:read"');
    expect(kept.length).toBeLessThan(1_000);
  });
});

describe('an authorization error', () => {
  const { challenge } = newVerifier();
  const errorOf = async (redirect: string, change: object): Promise<Response> => {
    const { body } = await oauth.register({ redirect_uris: [redirect] });
    const form = { redirect_uri: redirect, ...change };
    return (await oauth.ask(new Browser(), oauth.authorizeUrl(String(body['client_id']), challenge, form))) as Response;
  };

  it.each([
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['no PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['another resource', { resource: 'https://other.example.com/mcp' }, 'invalid_target'],
    ['no prompt', { prompt: 'none' }, 'login_required'],
    ['another response mode', { response_mode: 'fragment' }, 'unsupported_response_mode'],
  ])(
    'is shown on a page for web redirects, and redirected to loopback and custom schemes: %s',
    async (_name, change, error) => {
      const page = await errorOf('https://app.example.com/callback', change);
      expect([page.status, page.headers.get('location')]).toEqual([400, null]);
      expect(page.headers.get('content-type')).toContain('text/plain');
      expect(await page.text()).toContain(error);
      for (const redirect of ['http://127.0.0.1:4711/callback', 'com.example.app:/callback']) {
        const redirected = await errorOf(redirect, change);
        expect([redirected.status, redirected.headers.get('location')]).toEqual([303, expect.stringContaining(error)]);
      }
    },
  );

  it('is redirected after a person has denied the request', async () => {
    const redirect = 'https://app.example.com/callback';
    const { body } = await oauth.register({ redirect_uris: [redirect] });
    const browser = new Browser();
    const url = oauth.authorizeUrl(String(body['client_id']), challenge, { redirect_uri: redirect });
    const { pathname } = new URL(await oauth.requests.deny(String(await oauth.ask(browser, url))));
    const { headers } = await browser.open(`${oauth.origin}${pathname}`);
    expect(headers.get('location')).toContain(`${redirect}?error=access_denied`);
  });
});

describe('the token endpoint', () => {
  /** Returns how many of 70 concurrent requests from an address get 429. */
  async function refused(address: string, clientIdOf: (index: number) => string): Promise<number> {
    const statuses = Array.from({ length: 70 }, async (_, index) => {
      const body = new URLSearchParams({ ...oauth.refresh(clientIdOf(index), 'x') } as Record<string, string>);
      const headers = { 'x-forwarded-for': address };
      return (await fetch(`${oauth.issuer}/token`, { method: 'POST', headers, body })).status;
    });
    return (await Promise.all(statuses)).filter((status) => status === 429).length;
  }
  const newClient = async () => String((await oauth.register()).body['client_id']);

  it('counts each known client separately, and all other clients of a network together', async () => {
    const [one, other] = [await newClient(), await newClient()];
    expect(await refused('203.0.113.1', () => one)).toBe(10);
    expect(await refused('203.0.113.1', () => other)).toBe(10);
    expect(await refused('203.0.113.1', (index) => `unknown-${index}`)).toBe(10);
    expect(await refused('203.0.113.1', (index) => `https://unknown-${index}.invalid/`)).toBe(70);
  });

  it('lets a trusted network exceed the limit of other networks', async () => {
    expect(await refused(TRUSTED_NETWORK.replace('0/24', '9'), (index) => `unknown-${index}`)).toBe(0);
  });
});

it.each(['/token', '/register'])('%s refuses an oversized body with 413 before it is complete', async (path) => {
  const { hostname, port } = new URL(oauth.issuer);
  const socket = connect(Number(port), hostname);
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n`;
  socket.write(`${head}client_id=${'x'.repeat(17_000)}`);
  let response = '';
  for await (const piece of socket) response += String(piece);
  expect(response).toMatch(/^HTTP\/1\.1 413 /);
  expect(response.toLowerCase()).toContain('connection: close');
});
