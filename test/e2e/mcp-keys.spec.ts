/**
 * Permissions of a key for MCP tools, on two processes that share a database and Redis. A change of the key applies
 * within a second to its tools, streams and lists on both processes.
 */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { json, startBackend, type Backend, type BackendHandler } from '../support/backend.js';
import { describeOnDatabasesWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { modernMessage } from '../support/mcp-world.js';
import { freshDatabase, type FreshDatabase } from '../support/postgres.js';
import { eventually } from '../support/processes.js';
import type { RunningTrailgate } from '../support/program.js';
import { mergePatch, testOpenapi, type Json } from '../support/program-config.js';
import { sharedRedisUrl } from '../support/redis.js';
import { startNodes } from '../support/worlds.js';

const SOON_MS = 1_000;
const PAGE_TOOLS = 50;

const listed = (path: string, at: number) => ({
  get: {
    operationId: `readReport${at}`,
    description: `Reads report number ${at}, of ${path}.`,
    'x-mcp': { response: 'text' },
    security: [{ apiKey: ['reports:read'] }],
    responses: { 200: { description: 'As the backend says.' } },
  },
});
const REPORTS = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`/reports_${at}`, listed('reports', at)]));
const named = (what: string) => ({
  'x-mcp': { response: 'text' },
  description: `${what} of this account, and no more.`,
});
const OPENAPI = mergePatch(testOpenapi, {
  paths: {
    '/customers': { get: named('Lists customers'), post: named('Creates a customer') },
    '/customers/{id}': { get: named('Reads a customer'), delete: named('Deletes a customer') },
    ...REPORTS,
  },
}) as Json;
const CONFIG: Json = {
  plans: { few: { key: { minute: 3 }, onRedisLoss: 'closed' } },
  mcp: { mostListed: 100 },
  usage: { flushInterval: '100ms' },
};

const ANSWER: BackendHandler = json({ data: [] });

interface Listed {
  readonly tools: readonly { readonly name: string }[];
  readonly nextCursor?: string;
}
interface Called {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

async function ask<T>(at: RunningTrailgate, secret: string, method: string, params: object = {}): Promise<T> {
  const { body, headers } = modernMessage(method, params);
  const fields = { ...headers, authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
  const reply = await send(`${at.gatewayUrl}/mcp`, { method: 'POST', headers: fields, body });
  expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('"result"')]);
  return reply.json<{ result: T }>().result;
}

const namesOf = ({ tools }: Listed): string[] => tools.map(({ name }) => name);
const wordsOf = ({ content }: Called) => JSON.parse(content[0]!.text) as Record<string, unknown>;

describeOnDatabasesWithRedis('the key of an MCP client on two processes', (kind) => {
  let backend: Backend;
  /** Handler of the backend. */
  let answer = ANSWER;
  let database: FreshDatabase | undefined;
  let one: RunningTrailgate;
  let two: RunningTrailgate;
  const clients: Client[] = [];
  beforeAll(async () => {
    backend = await startBackend((...args) => answer(...args));
    database = kind === 'postgres' ? await freshDatabase() : undefined;
    const options = {
      backend: backend.url,
      openapi: OPENAPI,
      config: CONFIG,
      env: {
        REDIS_URL: await sharedRedisUrl(),
        ...(database === undefined ? {} : { DATABASE_URL: database.url }),
      },
    };
    [one, two] = (await startNodes(2, options)) as [RunningTrailgate, RunningTrailgate];
  });
  afterEach(async () => {
    answer = ANSWER;
    for (const client of clients.splice(0)) await client.close();
  });
  afterAll(async () => {
    await Promise.all([one?.stop(), two?.stop()]);
    await backend?.stop();
    await database?.drop();
  });

  const call = (at: RunningTrailgate, secret: string, name: string, args: object = {}): Promise<Called> =>
    ask<Called>(at, secret, 'tools/call', { name, arguments: args });

  const listening = async (at: RunningTrailgate, secret: string) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    clients.push(client);
    const requestInit = { headers: { authorization: `Bearer ${secret}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${at.gatewayUrl}/mcp`), { requestInit }));
    const seen = { told: 0, isOver: false };
    client.setNotificationHandler('notifications/tools/list_changed', () => void seen.told++);
    void (await client.listen({ toolsListChanged: true })).closed.then(() => (seen.isOver = true));
    return seen;
  };

  it('with customers:read lists the tools that read customers, and gets an error for others', async () => {
    const { key } = await one.admin.newKey('unlimited', { scopes: ['customers:read'] });
    const tools = ['get_usage', 'list_customers', 'get_customer'];
    for (const at of [one, two]) expect(namesOf(await ask<Listed>(at, key.secret, 'tools/list'))).toEqual(tools);
    const before = backend.requests.length;
    const refused = await call(two, key.secret, 'delete_customer', { id: 'cus_1' });
    expect([refused.isError, wordsOf(refused)]).toMatchObject([
      true,
      { error: 'insufficient_scope', status: 403, missing_scopes: ['customers:write'] },
    ]);
    expect(String(wordsOf(refused)['what_to_do'])).toContain('An administrator of the API keys');
    expect(backend.requests).toHaveLength(before);
  });

  it('gets long tool lists in pages across both processes, each tool once', async () => {
    const { key } = await one.admin.newKey('unlimited', { scopes: ['reports:read'] });
    const first = await ask<Listed>(one, key.secret, 'tools/list');
    expect(first.tools).toHaveLength(PAGE_TOOLS);
    // The other process continues the list where this one stopped.
    const rest = await ask<Listed>(two, key.secret, 'tools/list', { cursor: first.nextCursor });
    expect(rest.nextCursor).toBeUndefined();
    expect(new Set([...namesOf(first), ...namesOf(rest)]).size).toBe(61);
  });

  it('shares one limit across both, gets retry_after when refused, and calls get_usage for free', async () => {
    const { key, account } = await one.admin.newKey('few');
    for (let at = 0; at < 5; at++) expect((await call(two, key.secret, 'get_usage')).isError).toBeUndefined();
    for (const at of [one, two, one]) expect((await call(at, key.secret, 'list_customers')).isError).toBeUndefined();
    for (const at of [one, two]) {
      const refused = wordsOf(await call(at, key.secret, 'list_customers'));
      expect(refused).toMatchObject({ error: 'rate_limited', status: 429, used_up: ['key-minute'] });
      expect(refused['retry_after']).toBeGreaterThan(0);
    }
    const left = wordsOf(await call(two, key.secret, 'get_usage'));
    expect(left).toMatchObject({ windows: [{ policy: 'key-minute', used: 3, remaining: 0 }] });
    // The admin API reports the same usage of the key. REST requests share it.
    const { windows } = await one.admin.usage(account.id, `?api_key_id=${key.id}`);
    expect(windows).toMatchObject([{ policy: 'key-minute', used: 3 }]);
  });

  it('that is revoked on one process loses its streams on both within a second, and gets 401', async () => {
    const { key } = await one.admin.newKey();
    const streams = [await listening(one, key.secret), await listening(two, key.secret)];
    await one.admin.revokeKey(key.id);
    await eventually('both streams have ended', () => streams.every(({ isOver }) => isOver), SOON_MS);
    for (const at of [one, two]) {
      const { body, headers } = modernMessage('tools/list', {});
      const fields = { ...headers, authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' };
      const reply = await send(`${at.gatewayUrl}/mcp`, { method: 'POST', headers: fields, body });
      expect([reply.status, reply.json()['code']]).toEqual([401, 'revoked_api_key']);
      // The response must not point the client to OAuth, which it would then use instead of its key.
      expect(reply.headers['www-authenticate']).not.toContain('resource_metadata');
    }
  });

  it.each([
    ['waits for the backend', false],
    ['gets its response piece by piece', true],
  ])('that is revoked while a call %s ends the call within a second with an error', async (_how, hasBegun) => {
    const { key } = await one.admin.newKey();
    let hasCome = false;
    let isLetGo = false;
    answer = (_request, response) => {
      hasCome = true;
      if (hasBegun) response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":');
      response.on('close', () => (isLetGo = true));
    };
    const running = call(two, key.secret, 'list_customers');
    await eventually('the call is at the backend', () => hasCome);
    await one.admin.revokeKey(key.id);
    await eventually('the backend call is aborted', () => isLetGo, SOON_MS);
    expect(wordsOf(await running)).toMatchObject({ error: 'revoked_api_key', status: 401 });
  });

  it('whose scopes change is notified on both processes within a second, and lists other tools', async () => {
    const { key } = await one.admin.newKey('unlimited', { scopes: ['customers:read'] });
    const streams = [await listening(one, key.secret), await listening(two, key.secret)];
    await one.admin.updateKey(key.id, { scopes: ['customers:read', 'customers:write'] });
    await eventually('both streams are notified', () => streams.every(({ told }) => told > 0), SOON_MS);
    const tools = ['get_usage', 'list_customers', 'create_customer', 'get_customer', 'delete_customer'];
    for (const at of [one, two]) expect(namesOf(await ask<Listed>(at, key.secret, 'tools/list'))).toEqual(tools);
  });
});
