/**
 * Metadata documents of the OAuth server (RFC 9728, RFC 8414), claim by claim. What they list works, and anything else
 * is refused. A new claim fails these tests until it is in the expected lists. See `client-by-document.spec.ts` for
 * clients that identify themselves by a metadata document.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, newVerifier, REDIRECT, newClientHeaders, type Form } from '../support/oauth-steps.js';
import { OAuthWorld } from '../support/oauth-world.js';
import { eventually } from '../support/processes.js';

type Document = Readonly<Record<string, unknown>>;

const TOOLS: Readonly<Record<string, string>> = {
  'customers:read': 'list_customers',
  'customers:write': 'create_customer',
};

let world: OAuthWorld;
let resource: Document;
let server: Document;
let accountId: string;
let clientId: string;
const { challenge } = newVerifier();

const documentAt = async (url: string): Promise<Document> => (await fetch(url)).json() as Promise<Document>;

beforeAll(async () => {
  world = await OAuthWorld.start();
  accountId = await world.newAccount();
  clientId = String((await world.register()).body['client_id']);
  const [, url = ''] =
    /resource_metadata="([^"]+)"/.exec((await world.listTools(undefined)).headers.get('www-authenticate') ?? '') ?? [];
  resource = await documentAt(url);
  const [issuer = ''] = resource['authorization_servers'] as string[];
  server = await documentAt(`${issuer}/.well-known/oauth-authorization-server`);
});
afterAll(() => world?.stop());

/** Returns the parameters that a refused authorization request sends to the client in its redirect. */
async function refusalOf(change: Form): Promise<Document> {
  const response = await world.ask(new Browser(), world.authorizeUrl(clientId, challenge, change));
  expect(response).toBeInstanceOf(Response);
  const location = new URL((response as Response).headers.get('location') ?? 'none:');
  expect(`${location.origin}${location.pathname}`).toBe(REDIRECT);
  // Token responses use the fragment by default (OAuth 2.0 Multiple Response Types).
  const params = location.search === '' ? new URLSearchParams(location.hash.slice(1)) : location.searchParams;
  return { ...Object.fromEntries(params), isInQuery: location.search !== '' };
}

/** Posts a form to the token endpoint or the revocation endpoint, with headers. */
const post = async (endpoint: unknown, form: Record<string, string>, headers: Record<string, string> = {}) => {
  const body = new URLSearchParams(form);
  const response = await fetch(String(endpoint), {
    method: 'POST',
    headers: { ...newClientHeaders(), ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, body: (text === '' ? {} : JSON.parse(text)) as Document };
};

const basic = (id: string) => ({ authorization: `Basic ${Buffer.from(`${id}:secret`).toString('base64')}` });
const formOf = (form: Form): Record<string, string> => ({ ...(form as Record<string, string>) });

describe('the resource metadata of the MCP server', () => {
  it('is at the URL that the challenge names, and has exactly these claims', () => {
    expect(resource).toEqual({
      resource: world.mcpUrl,
      authorization_servers: [world.issuer],
      scopes_supported: Object.keys(TOOLS),
      bearer_methods_supported: ['header'],
      resource_name: 'Test API',
    });
  });

  it('resource: tokens for it work, and requests for another resource are refused', async () => {
    const tokens = await world.authorize(accountId, {}, { resource: String(resource['resource']) });
    expect((await world.listTools(tokens.access_token, String(resource['resource']))).status).toBe(200);
    for (const other of [world.issuer, `${world.mcpUrl}/other`, `${world.trailgate.gatewayUrl}/mcp`]) {
      expect(await refusalOf({ resource: other })).toMatchObject({ error: 'invalid_target' });
      const form = { ...world.refresh(tokens.clientId, tokens.refresh_token), resource: other };
      expect(await world.token(form)).toMatchObject({ status: 400, body: { error: 'invalid_target' } });
    }
    const both = world.authorizeUrl(clientId, challenge);
    both.searchParams.append('resource', 'https://other.example.com/mcp');
    const refused = (await world.ask(new Browser(), both)) as Response;
    expect(refused.headers.get('location')).toContain('error=invalid_target');
    // The refused requests have not used up the refresh token.
    expect((await world.token(world.refresh(tokens.clientId, tokens.refresh_token))).status).toBe(200);
  });

  it('scopes_supported: each scope can be granted and allows its tool; other scopes are never granted', async () => {
    expect(resource['scopes_supported']).toEqual(server['scopes_supported']);
    for (const scope of resource['scopes_supported'] as string[]) {
      const tokens = await world.authorize(await world.newAccount(), { scopes: [scope] }, { scope });
      expect(tokens.scope).toBe(scope);
      const { result } = (await (await world.listTools(tokens.access_token)).json()) as {
        result: { tools: { name: string }[] };
      };
      const opened = result.tools.map(({ name }) => name).filter((name) => Object.values(TOOLS).includes(name));
      expect(opened).toEqual([TOOLS[scope]]);
    }
    const other = { scope: 'customers:read admin:all' };
    expect((await world.authorize(await world.newAccount(), {}, other)).scope).toBe('customers:read');
    const id = String(await world.ask(new Browser(), world.authorizeUrl(clientId, challenge, other)));
    await expect(world.approve(id, accountId, { scopes: ['admin:all'] })).rejects.toThrow(/validation_failed|422/);
  });

  it('bearer_methods_supported: a token is accepted in the header, but not in the query or body', async () => {
    const { access_token: token } = await world.authorize(accountId);
    expect((await world.listTools(token)).status).toBe(200);
    expect((await world.listTools(undefined, `${world.mcpUrl}?access_token=${token}`)).status).toBeGreaterThan(399);
    expect((await post(world.mcpUrl, { access_token: token })).status).toBe(401);
  });
});

describe('the metadata of the authorization server', () => {
  it('has exactly these claims', () => {
    expect(server).toEqual({
      issuer: world.issuer,
      authorization_endpoint: `${world.issuer}/authorize`,
      token_endpoint: `${world.issuer}/token`,
      revocation_endpoint: `${world.issuer}/revoke`,
      registration_endpoint: `${world.issuer}/register`,
      scopes_supported: ['customers:read', 'customers:write'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: ['none'],
      revocation_endpoint_auth_methods_supported: ['none'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    });
  });

  it('endpoints: the paths of other OAuth and OpenID endpoints are not found', async () => {
    const { access_token: token } = await world.authorize(accountId);
    const others = ['introspect', 'userinfo', 'me', 'jwks', 'par', 'request', 'device', 'device/auth', 'backchannel'];
    const documents = [
      'openid-configuration',
      'oauth-authorization-server/mcp',
      'openid-configuration/mcp',
      'jwks.json',
    ];
    for (const path of [...others, 'session/end', ...documents.map((name) => `.well-known/${name}`)]) {
      const headers = { authorization: `Bearer ${token}` };
      expect([path, (await fetch(`${world.issuer}/${path}`, { headers })).status]).toEqual([path, 404]);
      expect([path, (await post(`${world.issuer}/${path}`, { token, client_id: clientId })).status]).toEqual([
        path,
        404,
      ]);
    }
  });

  it('response_types_supported: all types other than code are refused', async () => {
    for (const type of ['token', 'id_token', 'none', 'code token', 'code id_token', 'id_token token', 'bogus'])
      expect(await refusalOf({ response_type: type })).toMatchObject({ error: 'unsupported_response_type' });
  });

  it('response_modes_supported: query works, and other modes are refused', async () => {
    await world.authorize(accountId, {}, { response_mode: 'query' });
    for (const mode of ['fragment', 'form_post', 'web_message', 'jwt', 'query.jwt', 'bogus']) {
      const refusal = await refusalOf({ response_mode: mode });
      expect(refusal).toMatchObject({ error: 'unsupported_response_mode', isInQuery: true, iss: world.issuer });
    }
  });

  it('grant_types_supported: a code and a refresh token are accepted, and other grants are refused', async () => {
    const { refresh_token: refresh, clientId: owner, access_token: token } = await world.authorize(accountId);
    expect((await world.token(world.refresh(owner, refresh))).status).toBe(200);
    const others = [
      'client_credentials',
      'password',
      'implicit',
      'urn:ietf:params:oauth:grant-type:device_code',
      'urn:ietf:params:oauth:grant-type:jwt-bearer',
      'urn:ietf:params:oauth:grant-type:token-exchange',
      'urn:openid:params:grant-type:ciba',
    ];
    for (const grant of others) {
      const asked = { grant_type: grant, client_id: owner, username: 'a', password: 'b', assertion: token };
      expect(await post(server['token_endpoint'], asked)).toMatchObject({
        status: 400,
        body: { error: 'unsupported_grant_type' },
      });
    }
  });

  it('token_endpoint_auth_methods_supported: a secret is refused, and does not replace the verifier', async () => {
    const { clientId: owner, code, verifier } = await world.code(accountId);
    const form = formOf(world.exchange(owner, code, verifier));
    const { client_id: _, ...withoutId } = form;
    const refused = await post(server['token_endpoint'], withoutId, basic(owner));
    expect([refused.status >= 400 && refused.status < 500, 'access_token' in refused.body]).toEqual([true, false]);
    // A secret in the body is an unknown parameter, which is ignored (RFC 6749 section 3.2).
    const assertion = {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: 'e30.e30.e30',
    };
    const { code_verifier: __, ...withoutVerifier } = form;
    for (const instead of [{ client_secret: 'secret' }, assertion]) {
      const { status, body } = await post(server['token_endpoint'], { ...withoutVerifier, ...instead });
      expect([status, body['error']]).toEqual([400, 'invalid_grant']);
    }
    expect((await post(server['token_endpoint'], form)).status).toBe(200);
  });

  it('revocation_endpoint: revokes a token without a client secret, and refuses a request with one', async () => {
    const { access_token: token, clientId: owner } = await world.authorize(accountId);
    const refused = await post(server['revocation_endpoint'], { token }, basic(owner));
    expect([refused.status >= 400, (await world.listTools(token)).status]).toEqual([true, 200]);
    expect((await post(server['revocation_endpoint'], { token, client_id: owner })).status).toBe(200);
    await eventually('the token is refused', async () => (await world.listTools(token)).status === 401, 1_000);
    // Revoking an unknown token succeeds (RFC 7009 section 2.2).
    expect((await post(server['revocation_endpoint'], { token: 'none', client_id: owner })).status).toBe(200);
  });

  it('code_challenge_methods_supported: other methods, no method and no challenge are refused', async () => {
    for (const change of [{ code_challenge_method: 'plain' }, { code_challenge_method: 'S512' }])
      expect(await refusalOf(change)).toMatchObject({ error: 'invalid_request' });
    const none = { code_challenge: undefined, code_challenge_method: undefined };
    expect(await refusalOf(none)).toMatchObject({ error: 'invalid_request' });
    // A missing method means `plain` (RFC 7636 section 4.3).
    expect(await refusalOf({ code_challenge_method: undefined })).toMatchObject({ error: 'invalid_request' });
  });

  it('authorization_response_iss_parameter_supported: redirects name the issuer (RFC 9207)', async () => {
    const browser = new Browser();
    const id = String(await world.ask(browser, world.authorizeUrl(clientId, challenge)));
    const back = (await world.comeBack(browser, await world.approve(id, accountId))) as URLSearchParams;
    expect([back.getAll('iss'), back.getAll('state'), back.getAll('code').length]).toEqual([
      [server['issuer']],
      ['state'],
      1,
    ]);
    expect(await refusalOf({ resource: 'https://other.example.com' })).toMatchObject({ iss: server['issuer'] });
  });

  it('registration_endpoint: registers clients with supported values only, and refuses bad metadata', async () => {
    const asked = {
      grant_types: ['implicit'],
      response_types: ['token'],
      token_endpoint_auth_method: 'private_key_jwt',
    };
    const { status, body } = await world.register(asked);
    expect(status).toBe(201);
    expect(body).toMatchObject({ client_id: expect.any(String) as unknown, redirect_uris: [REDIRECT] });
    expect(body['grant_types']).toEqual(server['grant_types_supported']);
    expect(body['response_types']).toEqual(server['response_types_supported']);
    expect([body['token_endpoint_auth_method']]).toEqual(server['token_endpoint_auth_methods_supported']);
    expect(body['client_id_issued_at']).toEqual(expect.any(Number));
    for (const [error, metadata] of [
      ['invalid_redirect_uri', { redirect_uris: ['http://evil.example.com/'] }],
      ['invalid_client_metadata', { client_name: 1 }],
    ] as const) {
      expect(await world.register(metadata)).toMatchObject({ status: 400, body: { error } });
    }
  });

  it('registration_endpoint: is not in the metadata and not found if registration is off', async () => {
    const closed = await OAuthWorld.start({ registration: false });
    try {
      const document = await documentAt(`${closed.issuer}/.well-known/oauth-authorization-server`);
      const { registration_endpoint: _, ...rest } = server;
      const elsewhere = JSON.stringify(rest).replaceAll(world.issuer, closed.issuer);
      expect(document).toEqual(JSON.parse(elsewhere));
      expect((await closed.register()).status).toBe(404);
    } finally {
      await closed.stop();
    }
  });
});
