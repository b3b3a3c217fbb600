/** A person authorizes an OAuth client. The client has the permissions of its key until the key is revoked. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { globSync, readFileSync, statSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { eventually } from '../support/processes.js';
import { Browser, REDIRECT, newClientHeaders } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';

let world: OAuthWorld;
let accountId: string;
beforeAll(async () => {
  world = await OAuthWorld.start({}, { plans: { five: { account: { minute: 5 } } } });
  accountId = await world.newAccount();
});
afterAll(() => world?.stop());

const keysOf = async (account: string) =>
  (
    await world.trailgate.admin.call<{
      data: { id: string; scopes: string[]; status: string; oauth_client: { id: string; name: string } | null }[];
    }>('GET', `/accounts/${account}/api-keys`)
  ).data;

it('the OAuth metadata is served by the issuer, but not by the API origin', async () => {
  const get = async (path: string) => (await fetch(`${world.issuer}${path}`)).json();
  const resource = { resource: world.mcpUrl, authorization_servers: [world.issuer] };
  expect(await get('/.well-known/oauth-protected-resource/mcp')).toMatchObject(resource);
  expect(await get('/.well-known/oauth-protected-resource')).toMatchObject(resource);
  expect(await get('/.well-known/oauth-authorization-server')).toMatchObject({
    issuer: world.issuer,
    authorization_endpoint: `${world.issuer}/authorize`,
    code_challenge_methods_supported: ['S256'],
    registration_endpoint: `${world.issuer}/register`,
    scopes_supported: ['customers:read', 'customers:write'],
    client_id_metadata_document_supported: true,
  });
  for (const path of ['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server']) {
    expect((await fetch(`${world.trailgate.gatewayUrl}/.well-known/${path}`)).status).toBe(404);
  }
  const refused = await world.listTools(undefined, `${world.trailgate.gatewayUrl}/mcp`);
  expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="api"']);
});

it('the official client discovers the server, is authorized, and calls a tool', async () => {
  let tokens: object | undefined;
  let client_: object | undefined;
  let verifier = '';
  let discovered: object | undefined;
  let asked: URL | undefined;
  const provider = {
    redirectUrl: REDIRECT,
    clientMetadata: { client_name: 'Official client', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none' },
    clientInformation: () => client_,
    saveClientInformation: (information: object) => void (client_ = information),
    tokens: () => tokens,
    saveTokens: (given: object) => void (tokens = given),
    redirectToAuthorization: (url: URL) => void (asked = url),
    saveCodeVerifier: (text: string) => void (verifier = text),
    codeVerifier: () => verifier,
    saveDiscoveryState: (state: object) => void (discovered = state),
    discoveryState: () => discovered,
  };
  const connect = async () => {
    const options = { authProvider: provider as never };
    const transport = new StreamableHTTPClientTransport(new URL(world.mcpUrl), options);
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    return { client, transport };
  };
  const first = await connect();
  await expect(first.client.connect(first.transport)).rejects.toThrow(UnauthorizedError);
  const browser = new Browser();
  const id = await world.ask(browser, asked!);
  expect(typeof id).toBe('string');
  const back = await world.comeBack(browser, await world.approve(String(id), accountId));
  const params = back as URLSearchParams;
  await first.transport.finishAuth(params.get('code') ?? '', params.get('iss') ?? undefined);
  const second = await connect();
  await second.client.connect(second.transport);
  const { tools } = await second.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['get_usage', 'list_customers']);
  const result = await second.client.callTool({ name: 'list_customers', arguments: {} });
  expect(result).toMatchObject({ content: [{ type: 'text', text: '{"data":[]}' }] });
  await second.client.close();
  const key = (await keysOf(accountId)).find(({ oauth_client: client }) => client?.name === 'Official client');
  expect(key).toMatchObject({ scopes: ['customers:read'], status: 'active' });
}, 60_000);

it('the token of an OAuth client is backed by a key in the key list of the account', async () => {
  const account = await world.newAccount();
  const { access_token: token, clientId } = await world.authorize(account);
  expect(token).toMatch(/^tg_mcpt_[0-9A-Za-z]{36}$/);
  expect((await world.listTools(token)).status).toBe(200);
  const keys = await keysOf(account);
  expect(keys).toEqual([
    expect.objectContaining({ oauth_client: expect.objectContaining({ id: clientId, name: 'Test assistant' }) }),
  ]);
});

it("the calls of an OAuth client and of the account's API keys share one limit", async () => {
  const { id } = await world.trailgate.admin.createAccount({ plan: 'five' });
  const { secret } = await world.trailgate.admin.createKey(id, { scopes: ['customers:read'] });
  const { access_token: token } = await world.authorize(id);
  const call = async () =>
    JSON.stringify(await (await world.send(token, 'tools/call', { name: 'list_customers', arguments: {} })).json());
  const rest = async () =>
    (await fetch(`${world.trailgate.gatewayUrl}/api/v1/customers`, { headers: { authorization: `Bearer ${secret}` } }))
      .status;
  for (let round = 0; round < 2; round++)
    expect([await rest(), (await call()).includes('isError')]).toEqual([200, false]);
  expect([await rest(), await rest()]).toEqual([200, 429]);
  expect(await call()).toContain('rate_limited');
});

it('an OAuth client is refused from an address outside the allowed_ips of its key within a second', async () => {
  const account = await world.newAccount();
  const { access_token: token } = await world.authorize(account);
  const { access_token: other } = await world.authorize(account);
  const [key] = await keysOf(account);
  expect((await world.listTools(token)).status).toBe(200);
  await world.trailgate.admin.updateKey(key?.id ?? '', { allowed_ips: ['192.0.2.0/24'] });
  await eventually('it is refused', async () => (await world.listTools(token)).status === 403, 1_000);
  expect(await (await world.listTools(token)).json()).toMatchObject({ status: 403, code: 'ip_not_allowed' });
  expect((await world.listTools(other)).status).toBe(200);
  await world.trailgate.admin.updateKey(key?.id ?? '', { allowed_ips: ['127.0.0.0/8', '::1'] });
  await eventually('it is accepted', async () => (await world.listTools(token)).status === 200, 1_000);
});

it('the limits of the key of an OAuth client apply to that client alone', async () => {
  const account = await world.newAccount();
  const { access_token: token } = await world.authorize(account);
  const { access_token: other } = await world.authorize(account);
  const [key] = await keysOf(account);
  await world.trailgate.admin.updateKey(key?.id ?? '', { limits: { month: 2 } });
  const call = async (by: string) =>
    JSON.stringify(await (await world.send(by, 'tools/call', { name: 'list_customers', arguments: {} })).json());
  const reached = world.backend.requests.length;
  for (let round = 0; round < 2; round++) expect(await call(token)).not.toContain('isError');
  const refused = await call(token);
  expect(refused).toContain('quota_exceeded');
  expect(refused).toContain('key-month');
  expect(await call(other)).not.toContain('isError');
  expect(world.backend.requests.length).toBe(reached + 3);
});

it('no code, token or authorization request ID of an OAuth client is stored in plain text', async () => {
  const { clientId, code, verifier, id } = await world.code(accountId);
  const { body } = await world.token(world.exchange(clientId, code, verifier));
  const { body: next } = await world.token(world.refresh(clientId, body.refresh_token));
  const files = globSync(`${world.trailgate.dataDir}/**/*`).filter((file) => statSync(file).isFile());
  const kept = Buffer.concat(files.map((file) => readFileSync(file))).toString('latin1');
  expect(kept).toContain(clientId);
  const secrets = { code, id, access: body.access_token, refresh: body.refresh_token, next: next.refresh_token };
  expect(Object.entries(secrets).filter(([, secret]) => kept.includes(secret))).toEqual([]);
});

it('an OAuth client loses access within a second after its key is revoked', async () => {
  const account = await world.newAccount();
  const { access_token: token, refresh_token: refresh, clientId } = await world.authorize(account);
  expect((await world.listTools(token)).status).toBe(200);
  const [key] = await keysOf(account);
  await expect(world.trailgate.admin.rotateKey(key?.id ?? '')).rejects.toMatchObject({ status: 409 });
  await world.trailgate.admin.revokeKey(key?.id ?? '');
  await eventually('the token is refused', async () => (await world.listTools(token)).status === 401, 1_000);
  expect(await world.token(world.refresh(clientId, refresh))).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant' },
  });
});

it('an OAuth client can refresh its token and repeat the refresh; both new tokens work', async () => {
  const { refresh_token: refresh, access_token: first, clientId } = await world.authorize(accountId);
  const next = await world.token(world.refresh(clientId, refresh));
  expect(next.status).toBe(200);
  expect(next.body.access_token).not.toBe(first);
  expect((await world.listTools(next.body.access_token)).status).toBe(200);
  const again = await world.token(world.refresh(clientId, refresh));
  expect(again.status).toBe(200);
  for (const { body } of [next, again]) expect((await world.listTools(body.access_token)).status).toBe(200);
});

it('an OAuth client can revoke its own token, but not the token of another client', async () => {
  const mine = await world.authorize(accountId);
  const other = await world.authorize(accountId);
  const revoke = (token: string, clientId: string) =>
    fetch(`${world.issuer}/revoke`, {
      method: 'POST',
      headers: newClientHeaders(),
      body: new URLSearchParams({ token, client_id: clientId }),
    });
  await revoke(mine.access_token, other.clientId);
  expect((await world.listTools(mine.access_token)).status).toBe(200);
  expect((await revoke(mine.access_token, mine.clientId)).status).toBe(200);
  await eventually(
    'the token is refused',
    async () => (await world.listTools(mine.access_token)).status === 401,
    1_000,
  );
  expect((await world.listTools(other.access_token)).status).toBe(200);
});

it('the operator token cannot deny an authorization request, because only a person can', async () => {
  const clientId = String((await world.register()).body['client_id']);
  const browser = new Browser();
  const id = await world.ask(browser, world.authorizeUrl(clientId, 'c'.repeat(43)));
  const denied = await fetch(`${world.trailgate.adminUrl}/admin/v1/authorization-requests/${String(id)}/denial`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.trailgate.adminToken}` },
  });
  expect(denied.status).toBe(403);
});
