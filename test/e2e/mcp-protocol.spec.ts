/** Responses of the MCP server to valid and invalid messages: protocol versions, headers, error codes and statuses. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send, type Answer } from '../support/http.js';
import { MODERN, modernMessage, startMcpWorld, type McpWorld } from '../support/mcp-world.js';

const VERSION_MEMBER = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES_MEMBER = 'io.modelcontextprotocol/clientCapabilities';

let world: McpWorld;
let secret: string;
beforeAll(async () => {
  world = await startMcpWorld();
  ({ secret } = await world.newKey('unlimited'));
});
afterAll(() => world?.stop());

/** Builds a modern message, lets the test change it, and sends it. */
async function sendChanged(
  method: string,
  params: object,
  change: (sent: { body: Record<string, unknown>; headers: Record<string, string | undefined> }) => void,
): Promise<Answer> {
  const sent = modernMessage(method, params);
  const headers: Record<string, string | undefined> = {
    authorization: `Bearer ${secret}`,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...sent.headers,
  };
  const body = sent.body as Record<string, unknown>;
  change({ body, headers });
  const kept = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return send(world.mcpUrl, { method: 'POST', headers: Object.fromEntries(kept), body });
}

const metaOf = (body: Record<string, unknown>) => (body['params'] as { _meta: Record<string, unknown> })._meta;

function expectError(answer: Answer, status: number, code: number): { message: string; data: unknown } {
  const body = answer.json<{ error: { code: number; message: string; data: unknown } }>();
  expect([answer.status, body.error?.code]).toEqual([status, code]);
  expect(body).toMatchObject({ jsonrpc: '2.0', id: 1 });
  return body.error;
}

const resultOf = (answer: Answer) => {
  expect(answer.status).toBe(200);
  return answer.json<{ result: Record<string, unknown> }>().result;
};

describe('a modern client', () => {
  it('learns the versions and capabilities of the server from server/discover', async () => {
    const answer = await world.modern(secret, 'server/discover');
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'cache-control': 'no-store' });
    expect(resultOf(answer)).toEqual({
      resultType: 'complete',
      supportedVersions: [MODERN],
      capabilities: { tools: { listChanged: true }, resources: {}, prompts: {} },
      instructions: expect.stringContaining('get_usage'),
      ttlMs: 60_000,
      cacheScope: 'private',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'Customers API', version: expect.any(String) } },
    });
  });

  it.each(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'])(
    'learns how long it can cache %s',
    async (method) => {
      expect(resultOf(await world.modern(secret, method))).toMatchObject({
        resultType: 'complete',
        ttlMs: 60_000,
        cacheScope: 'private',
      });
    },
  );

  it.each(['initialize', 'ping', 'completion/complete', 'logging/setLevel', 'resources/subscribe', 'nothing'])(
    'gets 404 and -32601 for the method %s',
    async (method) => {
      expectError(await world.modern(secret, method), 404, -32601);
    },
  );

  it('reads resources by URI, and gets -32602 for an unknown one', async () => {
    const { resources } = resultOf(await world.modern(secret, 'resources/list')) as {
      resources: { uri: string; mimeType: string }[];
    };
    expect(resources.map(({ uri }) => uri)).toEqual([
      'https://api.example.com/api/v1/openapi.json',
      'https://api.example.com/docs/errors',
    ]);
    for (const { uri, mimeType } of resources) {
      const { contents } = resultOf(await world.modern(secret, 'resources/read', { uri })) as {
        contents: { text: string }[];
      };
      expect(contents).toEqual([{ uri, mimeType, text: expect.any(String) }]);
      JSON.parse(contents[0]!.text);
    }
    expectError(await world.modern(secret, 'resources/read', { uri: 'https://elsewhere.example' }), 200, -32602);
  });

  it('gets prompts with their arguments, and -32602 for a missing argument or an unknown prompt', async () => {
    const { prompts } = resultOf(await world.modern(secret, 'prompts/list')) as { prompts: { name: string }[] };
    expect(prompts.map(({ name }) => name)).toEqual(['explain_refusal', 'find_my_limits']);
    const args = { name: 'explain_refusal', arguments: { refusal: 'rate_limited "x"' } };
    expect(resultOf(await world.modern(secret, 'prompts/get', args))['messages']).toEqual([
      { role: 'user', content: { type: 'text', text: expect.stringContaining('rate_limited "x"') } },
    ]);
    expectError(await world.modern(secret, 'prompts/get', { name: 'explain_refusal' }), 200, -32602);
    expectError(await world.modern(secret, 'prompts/get', { name: 'nothing' }), 200, -32602);
  });

  it.each<
    [string, number, number, (headers: Record<string, string | undefined>, body: Record<string, unknown>) => void]
  >([
    ['no version in its header', 400, -32020, (headers) => (headers['mcp-protocol-version'] = undefined)],
    ['another version in its header', 400, -32020, (headers) => (headers['mcp-protocol-version'] = '2025-11-25')],
    ['no version in its body', 400, -32602, (_headers, body) => delete metaOf(body)[VERSION_MEMBER]],
    ['a version that is no text', 400, -32602, (_headers, body) => (metaOf(body)[VERSION_MEMBER] = 1)],
    ['no capabilities', 400, -32602, (_headers, body) => delete metaOf(body)[CAPABILITIES_MEMBER]],
    ['no method in its header', 400, -32020, (headers) => (headers['mcp-method'] = undefined)],
    ['another method in its header', 400, -32020, (headers) => (headers['mcp-method'] = 'tools/list')],
    ['a method of other case in its header', 400, -32020, (headers) => (headers['mcp-method'] = 'Tools/Call')],
    ['no name in its header', 400, -32020, (headers) => (headers['mcp-name'] = undefined)],
    ['another name in its header', 400, -32020, (headers) => (headers['mcp-name'] = 'delete_customer')],
    ['a name that is badly encoded', 400, -32020, (headers) => (headers['mcp-name'] = '=?base64?!?=')],
    [
      'a version that nobody knows',
      400,
      -32022,
      (headers, body) => {
        headers['mcp-protocol-version'] = '2099-01-01';
        metaOf(body)[VERSION_MEMBER] = '2099-01-01';
      },
    ],
  ])('with %s gets %d and %d', async (_what, status, code, change) => {
    const call = { name: 'list_customers', arguments: {} };
    const before = world.backend.requests.length;
    const answer = await sendChanged('tools/call', call, ({ headers, body }) => change(headers, body));
    const { data } = expectError(answer, status, code);
    expect(data).toEqual(code === -32022 ? { supported: [MODERN], requested: '2099-01-01' } : undefined);
    expect(world.backend.requests.length).toBe(before);
  });

  it('can encode the tool name in its header, and put white space around it', async () => {
    const call = { name: 'list_customers', arguments: {} };
    const encoded = `=?base64?${Buffer.from('list_customers').toString('base64')}?=`;
    for (const name of [encoded, '  list_customers \t']) {
      const answer = await sendChanged('tools/call', call, ({ headers }) => (headers['mcp-name'] = name));
      expect(resultOf(answer)['isError']).toBeUndefined();
    }
  });

  it('that sends a session ID or event ID of the old protocol is served without a session', async () => {
    const headers = { 'mcp-session-id': 'x', 'last-event-id': '7' };
    const answer = await world.modern(secret, 'tools/list', {}, { headers });
    expect([answer.status, answer.headers['mcp-session-id']]).toEqual([200, undefined]);
  });
});

describe('a legacy client', () => {
  it.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2025-03-26'],
    ['2026-07-28', '2025-11-25'],
    ['2025-08-01', '2025-06-18'],
  ])('that requests version %s gets version %s and no session', async (protocolVersion, agreed) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    const sent = { headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' } };
    const body = { jsonrpc: '2.0', id: 'a', method: 'initialize', params };
    const answer = await send(world.mcpUrl, { method: 'POST', ...sent, body });
    expect(answer.headers['mcp-session-id']).toBeUndefined();
    expect(answer.json()).toMatchObject({
      id: 'a',
      result: { protocolVersion: agreed, serverInfo: { name: 'Customers API' }, capabilities: { tools: {} } },
    });
    expect(answer.text).not.toContain('resultType');
  });

  it('gets results without members of the modern protocol, and errors with status 200', async () => {
    expect(resultOf(await world.legacy(secret, 'ping'))).toEqual({});
    expect(Object.keys(resultOf(await world.legacy(secret, 'tools/list')))).toEqual(['tools']);
    expectError(await world.legacy(secret, 'server/discover'), 200, -32601);
    expectError(await world.legacy(secret, 'resources/read', { uri: 'x:y' }), 200, -32002);
  });

  it('gets 202 with an empty body for notifications', async () => {
    const body = { jsonrpc: '2.0', method: 'notifications/initialized' };
    const answer = await world.legacy(secret, '', {}, { body });
    expect([answer.status, answer.text]).toEqual([202, '']);
  });

  it.each(['GET', 'DELETE', 'PUT'])('gets 405 for the method %s', async (method) => {
    const answer = await send(world.mcpUrl, { method, headers: { authorization: `Bearer ${secret}` } });
    expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
  });

  it('with an unknown version is refused', async () => {
    const headers = { 'mcp-protocol-version': '1999-01-01' };
    expectError(await world.legacy(secret, 'tools/list', {}, { headers }), 400, -32022);
  });
});

describe('an invalid MCP message', () => {
  const post = (body: string | Buffer, headers: Record<string, string> = {}) =>
    send(world.mcpUrl, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
      body,
    });

  it.each([
    ['no JSON', '{"jsonrpc"', -32700],
    ['nothing', '', -32700],
    ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600],
    ['a text', '"ping"', -32600],
    ['another version of JSON-RPC', '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ['a response', '{"jsonrpc":"2.0","id":1,"result":{}}', -32600],
    ['no method', '{"jsonrpc":"2.0","id":1}', -32600],
    ['parameters in a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32600],
    ['an id that is null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600],
    ['an id that is no whole number', '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600],
    ['a name that changes all objects', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"__proto__":{}}}', -32700],
    ['the same, escaped', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\\u005f_proto__":{}}}', -32700],
    ['too many lists in lists', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`, -32700],
  ])('(%s) is refused with 400', async (_what, body, code) => {
    const answer = await post(body);
    expect([answer.status, answer.json<{ error: { code: number } }>().error.code]).toEqual([400, code]);
  });

  it('with another content type gets 415, and one with an Accept without JSON gets 406', async () => {
    expect((await post('{}', { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post('{}', { accept: 'text/html' })).status).toBe(406);
  });

  it('that is larger than 1 MiB is refused with 413', async () => {
    expect((await post('x'.repeat(1024 * 1024 + 1))).status).toBe(413);
  });
});

describe('an MCP request', () => {
  const ask = (headers: Record<string, string>, method = 'POST') =>
    send(world.mcpUrl, {
      method,
      headers,
      ...(method === 'POST' ? { body: { jsonrpc: '2.0', id: 1, method: 'ping' } } : {}),
    });

  it('without a valid key gets 401 without a hint at OAuth, and OAuth metadata is not found', async () => {
    for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
      const answer = await ask({ 'content-type': 'application/json', ...headers });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="api"/);
      expect(answer.headers['www-authenticate']).not.toContain('resource_metadata');
    }
    for (const path of [
      '/.well-known/oauth-protected-resource',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
    ])
      expect([path, (await send(world.url + path)).status]).toEqual([path, 404]);
  });

  it.each([
    ['under another name', { host: 'evil.example' }, 421],
    ['under its own name', { host: 'api.example.com' }, 200],
    ['under its own name with a port', { host: 'API.example.com:8443' }, 200],
    ['from this machine', { host: 'localhost:1234' }, 200],
    ['by a page of others', { host: 'api.example.com', origin: 'https://evil.example' }, 403],
    [
      'by a page of this machine, of a server elsewhere',
      { host: 'api.example.com', origin: 'http://localhost:3000' },
      403,
    ],
    ['by a page without an origin', { host: 'api.example.com', origin: 'null' }, 403],
    ['by a page of its own', { host: 'api.example.com', origin: 'https://api.example.com' }, 200],
    ['by a page that may', { host: 'api.example.com', origin: 'https://assistant.example' }, 200],
    ['by a page of this machine', { host: '127.0.0.1', origin: 'http://localhost:6274' }, 200],
  ])('%s is served or refused by its Host and Origin', async (_what, headers, status) => {
    const answer = await ask({ authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers });
    expect(answer.status).toBe(status);
    const { origin } = headers as { origin?: string };
    const codes: Readonly<Record<number, string>> = { 403: 'origin_not_allowed', 421: 'misdirected_request' };
    expect(answer.json()['code']).toBe(codes[status]);
    expect(answer.headers['access-control-allow-origin']).toBe(status === 403 ? undefined : origin);
  });

  it('by an allowed page passes the preflight without a key, with the methods and headers of MCP', async () => {
    const answer = await ask(
      { host: 'api.example.com', origin: 'https://assistant.example', 'access-control-request-method': 'POST' },
      'OPTIONS',
    );
    expect([answer.status, answer.headers['access-control-allow-methods']]).toEqual([204, 'GET, POST, DELETE']);
    expect(answer.headers['access-control-allow-headers']).toMatch(/, Mcp-Session-Id, Last-Event-ID$/);
  });
});
