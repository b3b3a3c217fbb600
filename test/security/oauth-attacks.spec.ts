/** Attacks on each step of the OAuth authorization server. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Browser, newVerifier, REDIRECT, newClientHeaders } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { send } from '../support/http.js';
import { eventually } from '../support/processes.js';

let world: OAuthWorld;
let accountId: string;
let clientId: string;
beforeAll(async () => {
  world = await OAuthWorld.start();
  accountId = await world.newAccount();
  clientId = String((await world.register()).body['client_id']);
});
afterAll(() => world?.stop());

const { challenge } = newVerifier();

describe('an authorization request', () => {
  it.each([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['with the plain method of PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['for another resource', { resource: 'https://other.example.com/mcp' }, 'invalid_target'],
    ['for a token in the address', { response_type: 'token' }, 'unsupported_response_type'],
  ])('%s is redirected to the client with an error, without asking a person', async (_name, change, error) => {
    const response = await world.ask(new Browser(), world.authorizeUrl(clientId, challenge, change));
    expect(response).toBeInstanceOf(Response);
    const location = (response as Response).headers.get('location') ?? '';
    expect(location.startsWith(REDIRECT)).toBe(true);
    expect(
      new URL(location).searchParams.get('error') ?? new URLSearchParams(new URL(location).hash.slice(1)).get('error'),
    ).toBe(error);
  });

  it.each([
    ['another address', { redirect_uri: 'https://evil.example.com/callback' }],
    ['another path', { redirect_uri: `${REDIRECT}/more` }],
    ['another host that begins alike', { redirect_uri: REDIRECT.replace('127.0.0.1', '127.0.0.1.evil.example') }],
    ['an unknown client', { client_id: 'nobody' }],
  ])('to %s is rejected without a redirect', async (_name, change) => {
    const response = await world.ask(new Browser(), world.authorizeUrl(clientId, challenge, change));
    expect(response).toBeInstanceOf(Response);
    expect([(response as Response).status, (response as Response).headers.get('location')]).toEqual([400, null]);
  });

  it('does not return its code to a browser that did not begin it', async () => {
    const attacker = new Browser();
    const id = await world.ask(attacker, world.authorizeUrl(clientId, challenge));
    const back = await world.comeBack(new Browser(), await world.approve(String(id), accountId));
    expect(back).toBeInstanceOf(Response);
    expect((back as Response).status).toBe(400);
  });

  it('does not return a code to the attacker when another browser approves it', async () => {
    const attacker = new Browser();
    const { verifier, challenge: own } = newVerifier();
    const id = String(await world.ask(attacker, world.authorizeUrl(clientId, own)));
    const url = await world.approve(id, accountId);
    const { origin, pathname } = new URL(url);
    const back = await world.comeBack(attacker, `${origin}${pathname}?ticket=${verifier}`);
    expect(back).toBeInstanceOf(URLSearchParams);
    expect([(back as URLSearchParams).get('error'), (back as URLSearchParams).get('code')]).toEqual([
      'access_denied',
      null,
    ]);
    // The URL of the other browser does not work afterwards, either.
    expect(await world.comeBack(attacker, url)).toBeInstanceOf(Response);
  });

  it('can be approved once, and not for more scopes or time than allowed', async () => {
    const browser = new Browser();
    const id = String(await world.ask(browser, world.authorizeUrl(clientId, challenge)));
    await expect(world.approve(id, accountId, { scopes: ['customers:write'] })).rejects.toThrow(
      /validation_failed|422/,
    );
    const late = new Date(Date.now() + 91 * 86_400_000).toISOString();
    await expect(world.approve(id, accountId, { expires_at: late })).rejects.toThrow(/validation_failed|422/);
    await world.approve(id, accountId);
    await expect(world.approve(id, accountId)).rejects.toThrow(/not_found|404/);
  });
});

describe('an authorization code', () => {
  it('is rejected without its verifier, and with another verifier, client, address or resource', async () => {
    const { clientId: owner, code, verifier } = await world.code(accountId);
    const wrong = newVerifier().verifier;
    for (const form of [
      world.exchange(owner, code, undefined),
      world.exchange(owner, code, wrong),
      world.exchange(clientId, code, verifier),
      { ...world.exchange(owner, code, verifier), redirect_uri: 'http://127.0.0.1:4711/other' },
      { ...world.exchange(owner, code, verifier), resource: 'https://other.example.com/mcp' },
    ]) {
      expect((await world.token(form)).status).toBe(400);
    }
  });

  it('that is used twice revokes its access token', async () => {
    const { clientId: owner, code, verifier } = await world.code(accountId);
    const first = await world.token(world.exchange(owner, code, verifier));
    expect((await world.listTools(first.body.access_token)).status).toBe(200);
    expect(await world.token(world.exchange(owner, code, verifier))).toMatchObject({ status: 400 });
    await eventually('it is out', async () => (await world.listTools(first.body.access_token)).status === 401, 1_000);
  });

  it('that is used ten times at once gives at most one token', async () => {
    const { clientId: owner, code, verifier } = await world.code(accountId);
    const form = world.exchange(owner, code, verifier);
    const all = await Promise.all(Array.from({ length: 10 }, () => world.token(form)));
    expect(all.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
  });
});

describe('an access token', () => {
  it('is not accepted as an API key, and an API key is not accepted as a token', async () => {
    const { access_token: token } = await world.authorize(accountId);
    for (const path of ['/api/v1/customers', '/mcp']) {
      const response = await fetch(`${world.trailgate.gatewayUrl}${path}`, {
        method: path === '/mcp' ? 'POST' : 'GET',
        headers: { authorization: `Bearer ${token}` },
      });
      expect([path, response.status]).toEqual([path, 401]);
    }
    const { secret } = await world.trailgate.admin.createKey(accountId, { scopes: ['customers:read'] });
    const refused = await world.listTools(secret);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain(
      `resource_metadata="${world.issuer}/.well-known/oauth-protected-resource/mcp"`,
    );
    for (const other of ['', 'x', `tg_mcpt_${'a'.repeat(36)}`]) {
      expect((await world.listTools(other)).status).toBe(401);
    }
  });

  it('is accepted only once and in its header, like a key', async () => {
    const { access_token: token } = await world.authorize(accountId);
    expect((await world.listTools(token)).status).toBe(200);
    expect((await world.listTools(token, `${world.mcpUrl}?access_token=${token}`)).status).toBe(400);
    const twice = ['Authorization', `Bearer ${token}`, 'Authorization', 'Bearer another'];
    expect((await send(world.mcpUrl, { method: 'POST', headers: twice, body: '{}' })).status).toBe(400);
  });

  it('does not work for other paths on the authorization origin', async () => {
    const { access_token: token } = await world.authorize(accountId);
    for (const path of [
      '/api/v1/customers',
      '/docs',
      '/admin/v1/me',
      '/jwks',
      '/me',
      '/.well-known/openid-configuration',
    ]) {
      const response = await fetch(`${world.issuer}${path}`, { headers: { authorization: `Bearer ${token}` } });
      expect([path, response.status]).toEqual([path, 404]);
    }
  });

  it('of a new account creates one key there', async () => {
    const other = await world.newAccount();
    const { access_token: token } = await world.authorize(other);
    expect((await world.listTools(token)).status).toBe(200);
    const { data } = await world.trailgate.admin.call<{ data: { id: string }[] }>('GET', `/accounts/${other}/api-keys`);
    expect(data).toHaveLength(1);
  });
});

describe('an OAuth client', () => {
  it.each([
    ['no address to be sent back to', { redirect_uris: [] }],
    ['a plain address of others', { redirect_uris: ['http://evil.example.com/callback'] }],
    ['a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['a fragment', { redirect_uris: ['https://a.example.com/#x'] }],
    ['a name of an object', { redirect_uris: [REDIRECT], client_name: {} }],
  ])('with %s is not registered', async (_name, metadata) => {
    expect((await world.register(metadata)).status).toBe(400);
  });

  it('gets no secret, even if it requests one, and its name loses control characters', async () => {
    const { body } = await world.register({
      token_endpoint_auth_method: 'client_secret_basic',
      client_name: '\u202eevil\n',
    });
    expect(body).toMatchObject({ token_endpoint_auth_method: 'none', client_name: 'evil' });
    expect(body).not.toHaveProperty('client_secret');
  });

  it.each([
    'https://169.254.169.254/latest/meta-data/',
    'https://internal/client.json',
    'https://10.0.0.1:8443/client.json',
    'https://user:pass@example.com/client.json',
    'http://example.com/client.json',
  ])('with its metadata document at %s is rejected within two seconds', async (id) => {
    const startedMs = performance.now();
    const response = await world.ask(new Browser(), world.authorizeUrl(id, challenge));
    expect(response).toBeInstanceOf(Response);
    expect((response as Response).status).toBe(400);
    expect(performance.now() - startedMs).toBeLessThan(2_000);
  });

  describe('that names URLs on this machine', () => {
    let listeners: readonly Server[];
    let port: number;
    let connections: number;
    beforeEach(async () => {
      connections = 0;
      const newListener = () =>
        createServer((socket) => {
          connections += 1;
          socket.destroy();
        });
      const [ofIpv4, ofIpv6] = (listeners = [newListener(), newListener()]);
      await once(ofIpv4!.listen(0, '127.0.0.1'), 'listening');
      ({ port } = ofIpv4!.address() as AddressInfo);
      await once(ofIpv6!.listen(port, '::1'), 'listening');
    });
    afterEach(() => {
      for (const listener of listeners) listener.close();
    });

    /** Checks that nothing has connected, and that a connection would have been counted. */
    async function expectNoConnection(): Promise<void> {
      expect(connections).toBe(0);
      await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
      expect(connections).toBe(1);
    }

    it.each([
      'https://127.0.0.1',
      'https://[::1]',
      'https://[::ffff:127.0.0.1]',
      'https://localhost',
      'https://localhost.',
      'https://127.1',
      'https://2130706433',
      'https://0.0.0.0',
      'http://127.0.0.1',
      'http://localhost',
    ])('has no metadata document fetched from %s', async (origin) => {
      const id = `${origin}:${port}/client.json`;
      const response = await world.ask(new Browser(), world.authorizeUrl(id, challenge));
      expect([(response as Response).status, (response as Response).headers.get('location')]).toEqual([400, null]);
      const { body } = await world.token(world.exchange(id, 'x', newVerifier().verifier));
      expect(body.error).toMatch(/^invalid_client/);
      await expectNoConnection();
    });

    it('has none of them fetched from the registration to the tokens', async () => {
      const url = `https://localhost:${port}`;
      const callback = `http://127.0.0.1:${port}/callback`;
      const names = ['client_uri', 'logo_uri', 'policy_uri', 'tos_uri', 'jwks_uri', 'sector_identifier_uri'];
      const more = ['initiate_login_uri', 'backchannel_logout_uri'];
      const { status, body } = await world.register({
        ...Object.fromEntries([...names, ...more].map((name) => [name, `${url}/${name}`])),
        request_uris: [`${url}/request`],
        redirect_uris: [callback],
      });
      expect(status).toBe(201);
      const owner = String(body['client_id']);
      const { verifier, challenge: own } = newVerifier();
      const asked = { redirect_uri: callback };
      const byReference = { ...asked, request_uri: `${url}/request` };
      const refused = await world.ask(new Browser(), world.authorizeUrl(owner, own, byReference));
      expect((refused as Response).headers.get('location')).toContain('error=request_uri_not_supported');
      const browser = new Browser();
      const id = String(await world.ask(browser, world.authorizeUrl(owner, own, asked)));
      const back = (await world.comeBack(browser, await world.approve(id, accountId))) as Response;
      const location = new URL(back.headers.get('location') ?? '');
      expect(`${location.origin}${location.pathname}`).toBe(callback);
      const code = location.searchParams.get('code') ?? '';
      const exchange = { ...world.exchange(owner, code, verifier), ...asked };
      expect((await world.token(exchange)).status).toBe(200);
      await expectNoConnection();
    });
  });
});

it('a network over its request limit gets 429, and others are served', async () => {
  const headers = newClientHeaders();
  const ask = (from: Record<string, string>) =>
    fetch(`${world.issuer}/token`, { method: 'POST', headers: from, body: new URLSearchParams({ client_id: 'x' }) });
  const statuses = await Promise.all(Array.from({ length: 70 }, async () => (await ask(headers)).status));
  expect(statuses.filter((status) => status === 429)).toHaveLength(10);
  expect((await ask(newClientHeaders())).status).not.toBe(429);
});
