/** The MCP server of the running program: enabled by the OpenAPI document, configurable, and visible to operators. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { parse, stringify } from 'yaml';
import { json, startBackend, type Backend } from '../support/backend.js';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { modernMessage } from '../support/mcp-world.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { mergePatch, testOpenapi, type Json } from '../support/program-config.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const DESCRIPTION = 'Lists customers, newest first, page by page.';
const OPTED_IN = mergePatch(testOpenapi, {
  paths: {
    '/customers': {
      get: {
        description: DESCRIPTION,
        'x-mcp': { response: 'text' },
        parameters: [{ name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 100 } }],
      },
    },
  },
}) as Json;

async function call(trailgate: SharedTrailgate, secret: string, method: string, params: object = {}) {
  const { body, headers } = modernMessage(method, params);
  const fields = { ...headers, authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  return send(`${trailgate.gatewayUrl}/mcp`, { method: 'POST', headers: fields, body });
}

const toolsOf = async (trailgate: SharedTrailgate, secret: string): Promise<string[]> => {
  const answer = await call(trailgate, secret, 'tools/list');
  const { result } = answer.json<{ result: { tools: { name: string }[] } }>();
  return result.tools.map(({ name }) => name);
};

describe('an API without MCP tools', () => {
  it('has no MCP server: /mcp answers 404 like any unknown path', async () => {
    const trailgate = await acquireTrailgate();
    try {
      const { key } = await trailgate.admin.newKey();
      const answer = await call(trailgate, key.secret, 'tools/list');
      expect([answer.status, answer.json()['code']]).toEqual([404, 'route_not_found']);
    } finally {
      await trailgate.stop();
    }
  });
});

describe('an API with a tool', () => {
  let backend: Backend;
  let trailgate: SharedTrailgate;
  let secret: string;
  let accountId: string;
  beforeAll(async () => {
    backend = await startBackend(json({ data: [{ id: 'cus_1' }] }));
    trailgate = await acquireTrailgate({
      own: true,
      backend: backend.url,
      openapi: OPTED_IN,
      config: { usage: { flushInterval: '100ms' } },
    });
    const { key, account } = await trailgate.admin.newKey();
    ({ secret } = key);
    accountId = account.id;
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  it('lists it, calls it, and validates its arguments against the OpenAPI document', async () => {
    expect(await toolsOf(trailgate, secret)).toEqual(['get_usage', 'list_customers']);
    const called = await call(trailgate, secret, 'tools/call', { name: 'list_customers', arguments: { limit: 3 } });
    expect(called.json()).toMatchObject({ result: { content: [{ type: 'text', text: '{"data":[{"id":"cus_1"}]}' }] } });
    expect(backend.requests.at(-1)?.url).toBe('/customers?limit=3');
    const wrong = await call(trailgate, secret, 'tools/call', { name: 'list_customers', arguments: { limit: 300 } });
    expect(wrong.json()).toMatchObject({ result: { isError: true } });
    expect(wrong.text).toContain('\\"field\\":\\"limit\\"');
  });

  it('serves its OpenAPI document and its error codes as resources', async () => {
    const listed = await call(trailgate, secret, 'resources/list');
    const { resources } = listed.json<{ result: { resources: { uri: string }[] } }>().result;
    const [openapi, errors] = await Promise.all(
      resources.map(async ({ uri }) => {
        const answer = await call(trailgate, secret, 'resources/read', { uri });
        return answer.json<{ result: { contents: { text: string }[] } }>().result.contents[0]!.text;
      }),
    );
    const direct = await send(`${trailgate.gatewayUrl}/api/v1/openapi.json`);
    expect(openapi).toBe(direct.text);
    const codes = JSON.parse(errors!) as { errors: { code: string; action: string }[] };
    expect(codes.errors).toContainEqual(expect.objectContaining({ code: 'rate_limited', action: expect.any(String) }));
  });

  it('shows a tool call to operators in the request log, in the metrics and in a log line', async () => {
    await call(trailgate, secret, 'tools/call', { name: 'list_customers', arguments: { limit: 9 } });
    const requests = `${trailgate.adminUrl}/admin/v1/accounts/${accountId}/requests`;
    const headers = { authorization: `Bearer ${trailgate.adminToken}` };
    const rows = async (query: string) =>
      (await send(`${requests}?${query}`, { headers })).json<{ data: Record<string, unknown>[] }>().data;
    await eventually('the call is in the request log', async () =>
      (await rows('source=mcp&operation=listCustomers')).some(({ tool }) => tool === 'list_customers'),
    );
    expect((await rows('source=mcp&operation=listCustomers'))[0]).toMatchObject({
      source: 'mcp',
      tool: 'list_customers',
      method: 'GET',
      route: '/api/v1/customers',
      status: 200,
    });
    expect(await rows('source=rest')).toEqual([]);
    const metrics = (await send(`${trailgate.adminUrl}/metrics`)).text;
    expect(metrics).toMatch(/trailgate_mcp_requests_total\{method="tools\/call",outcome="success"\} [1-9]/);
    expect(metrics).toMatch(/http_server_request_duration_seconds_count\{[^}]*http_route="\/customers"[^}]*\} [1-9]/);
    const lines = () => trailgate.logs().filter((line) => line['tool'] === 'list_customers');
    await eventually('the call is logged', () => lines().length > 0);
    expect(lines()[0]).toMatchObject({ event: 'request', method: 'GET', path: '/api/v1/customers', source: 'mcp' });
    expect(trailgate.logs().filter((line) => line['path'] === '/mcp' && line['operation'] !== undefined)).toEqual([]);
  });

  it('applies configuration changes to its tools and notifies listening clients', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${secret}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${trailgate.gatewayUrl}/mcp`), { requestInit }));
    let notificationCount = 0;
    client.setNotificationHandler('notifications/tools/list_changed', () => void notificationCount++);
    await client.listen({ toolsListChanged: true });
    const file = parse(readFileSync(trailgate.configPath, 'utf8')) as { operations: Json[] };
    const more = { match: 'GET /customers/{id}', mcp: { name: 'get_customer', description: 'Reads one customer.' } };
    writeFileSync(trailgate.configPath, stringify({ ...file, operations: [...file.operations, more] }));
    await eventually('the client is notified', () => notificationCount === 1, 20_000);
    expect(await toolsOf(trailgate, secret)).toEqual(['get_usage', 'list_customers', 'get_customer']);
    writeFileSync(trailgate.configPath, stringify({ ...file, mcp: { enabled: false } }));
    // Polls with GET, which is not counted. Free calls are limited, and a busy machine may need many here.
    const statusOfGet = async () => (await send(`${trailgate.gatewayUrl}/mcp`)).status;
    await eventually('the MCP server is disabled', async () => (await statusOfGet()) === 404, 20_000);
    expect((await call(trailgate, secret, 'tools/list')).status).toBe(404);
    await client.close();
    writeFileSync(trailgate.configPath, stringify(file));
    await eventually('the MCP server is enabled again', async () => (await statusOfGet()) === 405, 20_000);
    expect((await call(trailgate, secret, 'tools/list')).status).toBe(200);
  });

  it('ends an open stream gracefully on shutdown', async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { authorization: `Bearer ${secret}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${trailgate.gatewayUrl}/mcp`), { requestInit }));
    const { closed } = await client.listen({ toolsListChanged: true });
    await trailgate.stop();
    expect(await closed).toBe('graceful');
  });
});

describeWithOpenssl('over HTTP/2', () => {
  it('a tool call gets its result', async () => {
    const backend = await startBackend(json({ ok: true }));
    const { cert, key: privateKey } = makeCertificate(temporaryFolder('mcp-tls'));
    const tls = { cert, key: privateKey };
    const trailgate = await acquireTrailgate({ backend: backend.url, openapi: OPTED_IN, config: { gateway: { tls } } });
    const session = connect(trailgate.gatewayUrl, { rejectUnauthorized: false });
    try {
      const { key } = await trailgate.admin.newKey();
      const { body, headers } = modernMessage('tools/call', { name: 'list_customers', arguments: {} });
      const stream = session.request({
        ':method': 'POST',
        ':path': '/mcp',
        ...headers,
        authorization: `Bearer ${key.secret}`,
        'content-type': 'application/json',
      });
      stream.end(JSON.stringify(body));
      let text = '';
      stream.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      await once(stream, 'end');
      expect(JSON.parse(text)).toMatchObject({ result: { content: [{ text: '{"ok":true}' }] } });
    } finally {
      session.destroy();
      await trailgate.stop();
      await backend.stop();
    }
  });
});
