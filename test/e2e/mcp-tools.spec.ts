/** MCP tools by scope, in pages, and by search. Covers free calls and counted calls. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { openRequest, send } from '../support/http.js';
import { manyTools, modernMessage, startMcpWorld, TOOLS, type McpWorld } from '../support/mcp-world.js';
import { eventually } from '../support/processes.js';
import { callTool, refusalOf, resultOf, sceneOfTests } from '../support/tool-results.js';

const scene = sceneOfTests();

const call = (name: string, args: object = {}, of = scene.secret) => callTool(scene.world, of, name, args);
const refusal = (name: string, args: object = {}, of = scene.secret) => refusalOf(scene.world, of, name, args);

describe('the tool list', () => {
  interface Page {
    readonly tools: readonly { readonly name: string }[];
    readonly nextCursor?: string;
  }
  const page = async (of: string, cursor?: string, at = scene.world) =>
    resultOf(await at.modern(of, 'tools/list', cursor === undefined ? {} : { cursor })) as unknown as Page;

  it('has get_usage and the tools that the key can call, in the order of the configuration', async () => {
    const names = async (...scopes: string[]) =>
      (await page((await scene.world.newKey('unlimited', scopes)).secret)).tools.map(({ name }) => name);
    expect(await names('*')).toEqual(['get_usage', ...TOOLS.map(({ name }) => name)]);
    expect(await names('customers:read')).toEqual(['get_usage', 'list_customers', 'get_customer']);
    expect(await names('customers:write')).toEqual(['get_usage', 'create_customer', 'delete_customer']);
  });

  it('comes in pages of 50 without gaps or repetitions, and invalid cursors are refused', async () => {
    const many = manyTools(120);
    const paged = await startMcpWorld({ tools: many, mcp: { mostListed: 200 } });
    const { secret: of } = await paged.newKey('unlimited');
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | undefined, at = 0; at < 10; at++) {
      const { tools, nextCursor } = await page(of, cursor, paged);
      sizes.push(tools.length);
      seen.push(...tools.map(({ name }) => name));
      cursor = nextCursor;
      if (cursor === undefined) break;
    }
    expect(sizes).toEqual([50, 50, 21]);
    expect(seen).toEqual(['get_usage', ...many.map(({ name }) => name)]);
    for (const cursor of ['x', '', 'YWZ0ZXI6bm9uZQ', 7]) {
      const answer = await paged.modern(of, 'tools/list', { cursor });
      expect(answer.json<{ error: { code: number } }>().error.code).toBe(-32602);
    }
    await paged.stop();
  });
});

describe('with more than 25 tools', () => {
  let many: McpWorld;
  let manySecret: string;
  beforeAll(async () => {
    many = await startMcpWorld({ tools: [...TOOLS, ...manyTools(30)] });
    ({ secret: manySecret } = await many.newKey('unlimited'));
  });
  afterAll(() => many?.stop());

  const ask = async (name: string, args: object, of = manySecret) =>
    resultOf(await many.modern(of, 'tools/call', { name, arguments: args }));

  it('the list has three tools, two of which find and call the others', async () => {
    const { tools } = resultOf(await many.modern(manySecret, 'tools/list')) as unknown as {
      tools: { name: string; annotations: Record<string, boolean> }[];
    };
    expect(tools.map(({ name }) => name)).toEqual(['get_usage', 'search_operations', 'call_operation']);
    expect(tools[2]?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    const found = JSON.parse(
      (await ask('search_operations', { query: 'create a customer', limit: 1 })).content[0]!.text,
    ) as {
      operations: { name: string; inputSchema: object }[];
    };
    expect(found.operations).toMatchObject([{ name: 'create_customer', inputSchema: { required: ['name'] } }]);
    const { content } = await ask('call_operation', { name: 'create_customer', arguments: { name: 'x' } });
    expect(content[0]?.text).toBe('{"url":"/customers"}');
    expect(many.backend.requests.at(-1)).toMatchObject({ method: 'POST', url: '/customers' });
  });

  it('call_operation is authorized, counted and logged as the operation it calls', async () => {
    const { secret: few, accountId } = await many.newKey('few', ['customers:read']);
    const asked = { name: 'create_customer', arguments: { name: 'x' } };
    expect((await ask('call_operation', asked, few)).content[0]?.text).toContain('insufficient_scope');
    for (let at = 0; at < 2; at++) await ask('call_operation', { name: 'list_customers' }, few);
    expect((await ask('call_operation', { name: 'list_customers' }, few)).content[0]?.text).toContain('rate_limited');
    await eventually('all calls are in the request log', () => many.written(accountId).length >= 4);
    expect(many.written(accountId).map(({ source, tool, operation }) => [source, tool, operation])).toEqual(
      expect.arrayContaining([['mcp', 'list_customers', 'list_customers']]),
    );
  });

  it('an invalid search, a search without results and a call by an unknown name get help', async () => {
    expect((await ask('search_operations', { query: 7 })).content[0]?.text).toContain('"field":"query"');
    const nothing = JSON.parse((await ask('search_operations', { query: 'zzz' })).content[0]!.text) as {
      all_names: string[];
    };
    expect(nothing.all_names).toHaveLength(34);
    expect((await ask('call_operation', { name: 'drop' })).content[0]?.text).toContain('search_operations gave');
  });

  it('a key that can call few tools gets each of them listed', async () => {
    const { secret: writer } = await many.newKey('unlimited', ['customers:write']);
    await many.useTools([...TOOLS, ...manyTools(30, ['customers:read'])]);
    const { tools } = resultOf(await many.modern(writer, 'tools/list')) as unknown as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(['get_usage', 'create_customer', 'delete_customer']);
  });
});

describe('free calls', () => {
  it('include get_usage, which reports the remaining requests and uses none', async () => {
    const { secret: few, keyId } = await scene.world.newKey('few');
    await call('list_customers', {}, few);
    for (let at = 0; at < 3; at++) {
      const report = JSON.parse((await call('get_usage', {}, few)).content[0]!.text) as Record<string, unknown>;
      expect(report).toMatchObject({
        api_key_id: keyId,
        windows: [{ policy: 'key-minute', limit: 2, used: 1, remaining: 1 }],
      });
    }
  });

  it('are limited to 120 per minute and key, then get 429, while counted calls continue', async () => {
    const { secret: of } = await scene.world.newKey('unlimited');
    const statuses: number[] = [];
    for (let at = 0; at < 121; at++) statuses.push((await scene.world.modern(of, 'tools/list')).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(120);
    const refused = await scene.world.modern(of, 'tools/list');
    expect([refused.status, refused.json()['code']]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await refusal('get_usage', {}, of))['used_up']).toEqual(['mcp-free-calls']);
    // Counted calls continue to work.
    scene.world.answerWith(json({}));
    expect((await call('list_customers', {}, of)).isError).toBeUndefined();
  });
});

describe('a tool call', () => {
  it('is counted once as its operation in the usage, the limit fields and the request log', async () => {
    scene.world.answerWith(json({}));
    const { secret: of, accountId, keyId } = await scene.world.newKey('hundred');
    const answer = await scene.world.modern(of, 'tools/call', { name: 'list_customers' });
    expect(answer.headers['ratelimit']).toMatch(/^"account-minute";r=99;/);
    const usage = await send(`${scene.world.url}/api/v1/usage`, { headers: { authorization: `Bearer ${of}` } });
    expect(usage.json()).toMatchObject({ windows: [{ policy: 'account-minute', used: 1 }] });
    await eventually('the call is in the request log', () =>
      scene.world.written(accountId).some(({ tool }) => tool !== ''),
    );
    expect(scene.world.written(accountId).filter(({ operation }) => operation !== '')).toEqual([
      expect.objectContaining({
        keyId,
        operation: 'list_customers',
        method: 'GET',
        route: '/api/v1/customers',
        status: 200,
        source: 'mcp',
        tool: 'list_customers',
      }),
    ]);
  });
});

describe('a client that disconnects', () => {
  it('ends its backend call', async () => {
    scene.world.answerWith(() => undefined);
    const { body, headers } = modernMessage('tools/call', { name: 'list_customers' });
    const request = openRequest(scene.world.mcpUrl, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${scene.secret}`, 'content-type': 'application/json' },
    });
    request.on('error', () => undefined);
    request.end(JSON.stringify(body));
    await eventually('the backend gets the request', () => scene.world.backend.requests.length === 1);
    request.destroy();
    await eventually('the backend request is aborted', () => scene.world.backend.requests[0]?.aborted === true);
  });
});
