/** What a tool call comes to: results, refusals in words, lists by scopes, what is free, and what is counted. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { json } from '../support/backend.js';
import { open, send, type Answer } from '../support/http.js';
import { modernMessage, startMcpWorld, TOOLS, type McpWorld, type ToolWords } from '../support/mcp-world.js';
import { eventually } from '../support/processes.js';

interface ToolResult {
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly resultType: string;
}

let world: McpWorld;
let secret: string;
beforeAll(async () => {
  world = await startMcpWorld();
  ({ secret } = await world.newKey('unlimited'));
});
afterAll(() => world?.stop());

function resultOf(answer: Answer): ToolResult {
  expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('"result"')]);
  return answer.json<{ result: ToolResult }>().result;
}

async function call(name: string, args: object = {}, of = secret): Promise<ToolResult> {
  return resultOf(await world.modern(of, 'tools/call', { name, arguments: args }));
}

/** The words of a refusal. */
async function refusal(name: string, args: object = {}, of = secret): Promise<Record<string, unknown>> {
  const { isError, content, structuredContent } = await call(name, args, of);
  expect([isError, content.length, structuredContent]).toEqual([true, 1, undefined]);
  return JSON.parse(content[0]!.text) as Record<string, unknown>;
}

const says = (status: number, body: string | Buffer, type = 'application/json', more: Record<string, string> = {}) =>
  world.answerWith((_request, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type, ...more }).end(body);
  });

describe('a call that succeeds', () => {
  it('is the request that it stands for, and its text the body of the response', async () => {
    world.answerWith(json({ data: [1, 'ü'] }));
    const result = await call('list_customers', { limit: 2, cursor: 'a b' });
    expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: '{"data":[1,"ü"]}' }] });
    expect(result).not.toHaveProperty('isError');
    expect(result).not.toHaveProperty('structuredContent');
    const [received] = world.backend.requests;
    expect(received).toMatchObject({ method: 'GET', url: '/customers?limit=2&cursor=a+b' });
    expect(received?.headers).toMatchObject({ accept: 'application/json', 'x-api-scopes': '*' });
    expect(received?.headers['accept-encoding']).toBeUndefined();
  });

  it('may have a body', async () => {
    says(201, '{"id":"cus_1"}');
    await call('create_customer', { name: 'Ünal "X"' });
    const [received] = world.backend.requests;
    expect([received?.method, received?.body.toString()]).toEqual(['POST', '{"name":"Ünal \\"X\\""}']);
    expect(received?.headers).toMatchObject({ 'content-type': 'application/json', 'content-length': '22' });
  });

  it('puts what goes into a path there, and nowhere else', async () => {
    world.answerWith(json({}));
    await call('get_customer', { id: 'a/../b?c#d' });
    expect(world.backend.requests.map(({ url }) => url)).toEqual([]);
    await call('get_customer', { id: 'a b?c#d' });
    expect(world.backend.requests.map(({ url }) => url)).toEqual(['/customers/a%20b%3Fc%23d']);
  });

  it('says what was laid out for people without its spaces', async () => {
    says(200, JSON.stringify({ a: [1, { b: 'x, "y": z' }] }, null, 2));
    expect((await call('list_customers')).content).toEqual([{ type: 'text', text: '{"a":[1,{"b":"x, \\"y\\": z"}]}' }]);
  });

  it('without a body says that it went well, and where what it made is', async () => {
    says(204, '');
    expect((await call('delete_customer', { id: 'x' })).content[0]?.text).toBe('{"status":204}');
    says(201, '', 'text/plain', { location: '/customers/cus_9' });
    expect((await call('create_customer', { name: 'x' })).content[0]?.text).toBe(
      '{"status":201,"location":"/customers/cus_9"}',
    );
  });

  it('hands over text and images, and says of the rest what it is', async () => {
    says(200, 'a,b\n1,2', 'text/csv; charset=utf-8');
    expect((await call('list_customers')).content).toEqual([{ type: 'text', text: 'a,b\n1,2' }]);
    says(200, Buffer.from([1, 2, 3]), 'image/png');
    expect((await call('list_customers')).content).toEqual([{ type: 'image', data: 'AQID', mimeType: 'image/png' }]);
    says(200, Buffer.from([1, 2, 3]), 'application/pdf');
    expect(await call('list_customers')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('application/pdf of 3 bytes') }],
    });
  });

  it('that would be a redirect is told as what it is', async () => {
    says(302, '', 'text/plain', { location: 'https://elsewhere.example/' });
    expect(await call('list_customers')).toMatchObject({
      isError: true,
      content: [{ text: '{"status":302,"location":"https://elsewhere.example/"}' }],
    });
  });

  it('has an object beside its text only where the tool says what shape it has', async () => {
    const outputSchema = { type: 'object', properties: { id: { type: 'string' } } };
    const structure: ToolWords['structure'] = (body) => ({ id: (body as { id: string }).id });
    world.useTools([{ ...TOOLS[1]!, outputSchema, structure }]);
    says(200, '{"id":"cus_1","inner":true}');
    expect(await call('get_customer', { id: 'cus_1' })).toMatchObject({
      content: [{ type: 'text', text: '{"id":"cus_1","inner":true}' }],
      structuredContent: { id: 'cus_1' },
    });
    says(200, 'not JSON');
    expect((await call('get_customer', { id: 'cus_1' })).isError).toBe(true);
    world.useTools(TOOLS);
  });

  it('that is larger than an assistant can use is cut at a character, and says how to get the rest', async () => {
    says(200, `{"data":"${'ü'.repeat(50_000)}"}`);
    const { content, isError } = await call('list_customers');
    expect([isError, content.length]).toEqual([true, 2]);
    expect(content[0]?.text).toMatch(/^\{"data":"ü+$/);
    expect(content[1]?.text).toBe(
      'The response is larger than 65536 bytes, and was cut there. ' +
        'Ask for less at once, or for the next part, with: limit, cursor.',
    );
    expect((await call('get_customer', { id: 'x' })).content[1]?.text).toContain('no arguments that ask for less');
  });
});

describe('a call that is refused says', () => {
  it('which scope is missing, and who can give it', async () => {
    const { secret: reader } = await world.newKey('unlimited', ['customers:read']);
    world.backend.requests.length = 0;
    expect(await refusal('create_customer', { name: 'x' }, reader)).toEqual({
      error: 'insufficient_scope',
      status: 403,
      detail: 'This API key lacks the scope customers:write.',
      missing_scopes: ['customers:write'],
      what_to_do: expect.stringContaining('Whoever manages the API keys'),
      request_id: expect.stringMatching(/^req_/),
    });
    expect(world.backend.requests).toEqual([]);
  });

  it('what ran out, and how long to wait', async () => {
    world.answerWith(json({}));
    const { secret: few } = await world.newKey('few');
    for (let at = 0; at < 2; at++) expect((await call('list_customers', {}, few)).isError).toBeUndefined();
    const words = await refusal('list_customers', {}, few);
    expect(words).toMatchObject({ error: 'rate_limited', status: 429, used_up: ['key-minute'] });
    expect(words['retry_after']).toBeGreaterThan(0);
    expect(world.backend.requests).toHaveLength(2);
  });

  it('what the backend says, field by field', async () => {
    says(422, '{"errors":[{"field":"name","message":"is too short"}]}');
    expect(await refusal('create_customer', { name: '' })).toMatchObject({
      error: 'validation_failed',
      status: 422,
      errors: [{ detail: 'is too short', pointer: '#/name' }],
    });
    says(404, '{"message":"gone"}');
    expect(await refusal('get_customer', { id: 'x' })).toMatchObject({ error: 'resource_not_found', status: 404 });
  });

  it('that the fault is not its own where a backend fails', async () => {
    world.answerWith((_request, response) => void response.destroy());
    expect(await refusal('create_customer', { name: 'x' })).toMatchObject({
      error: 'backend_bad_response',
      status: 502,
      what_to_do: expect.stringContaining('not in the call'),
    });
  });

  it('which arguments are wrong; nothing is sent, and nothing counted', async () => {
    const { secret: few } = await world.newKey('few');
    world.answerWith(json({}));
    for (let at = 0; at < 3; at++) {
      expect(await refusal('get_customer', { nr: 1 }, few)).toEqual({
        error: 'validation_failed',
        detail: 'Some arguments cannot be taken. Nothing was sent, and nothing was counted.',
        errors: [
          { field: 'id', detail: 'is missing' },
          { field: 'nr', detail: 'is unknown' },
        ],
        what_to_do: expect.any(String),
        request_id: expect.any(String),
      });
    }
    expect(world.backend.requests).toEqual([]);
    expect((await call('list_customers', {}, few)).isError).toBeUndefined();
  });

  it('that there is no such tool by an error of the protocol', async () => {
    for (const params of [{ name: 'drop_customers' }, { name: '__proto__' }, { name: 'constructor' }]) {
      const answer = await world.modern(secret, 'tools/call', params);
      expect([answer.status, answer.json<{ error: { code: number } }>().error.code]).toEqual([200, -32602]);
    }
  });
});

describe('the list', () => {
  interface Page {
    readonly tools: readonly { readonly name: string }[];
    readonly nextCursor?: string;
  }
  const page = async (of: string, cursor?: string) =>
    resultOf(await world.modern(of, 'tools/list', cursor === undefined ? {} : { cursor })) as unknown as Page;

  it('has what the key may call, in the order of the configuration, and get_usage', async () => {
    const names = async (...scopes: string[]) =>
      (await page((await world.newKey('unlimited', scopes)).secret)).tools.map(({ name }) => name);
    expect(await names('*')).toEqual(['get_usage', ...TOOLS.map(({ name }) => name)]);
    expect(await names('customers:read')).toEqual(['get_usage', 'list_customers', 'get_customer']);
    expect(await names('customers:write')).toEqual(['get_usage', 'create_customer', 'delete_customer']);
  });

  it('comes in pages of 50 by a cursor, without a gap and without a repetition', async () => {
    const many = Array.from({ length: 120 }, (_, at) => ({ match: 'GET /customers', name: `tool_${at}` }));
    world.useTools(many);
    const seen: string[] = [];
    const sizes: number[] = [];
    for (let cursor: string | undefined, at = 0; at < 10; at++) {
      const { tools, nextCursor } = await page(secret, cursor);
      sizes.push(tools.length);
      seen.push(...tools.map(({ name }) => name));
      cursor = nextCursor;
      if (cursor === undefined) break;
    }
    expect(sizes).toEqual([50, 50, 21]);
    expect(seen).toEqual(['get_usage', ...many.map(({ name }) => name)]);
    for (const cursor of ['x', '', 'YWZ0ZXI6bm9uZQ', 7]) {
      const answer = await world.modern(secret, 'tools/list', { cursor });
      expect(answer.json<{ error: { code: number } }>().error.code).toBe(-32602);
    }
    world.useTools(TOOLS);
  });
});

describe('past 25 tools', () => {
  let many: McpWorld;
  let manySecret: string;
  beforeAll(async () => {
    const tools: ToolWords[] = [
      ...TOOLS,
      ...Array.from({ length: 30 }, (_, at) => ({
        match: 'GET /open',
        name: `report_${at}`,
        description: `Report number ${at} on invoices.`,
      })),
    ];
    many = await startMcpWorld({ tools, isSearched: true });
    ({ secret: manySecret } = await many.newKey('unlimited'));
  });
  afterAll(() => many?.stop());

  const ask = async (name: string, args: object, of = manySecret) =>
    resultOf(await many.modern(of, 'tools/call', { name, arguments: args }));

  it('the list has three, which find and call the others', async () => {
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

  it('a call by name is scoped, metered and logged as what it calls', async () => {
    const { secret: few, accountId } = await many.newKey('few', ['customers:read']);
    const asked = { name: 'create_customer', arguments: { name: 'x' } };
    expect((await ask('call_operation', asked, few)).content[0]?.text).toContain('insufficient_scope');
    for (let at = 0; at < 2; at++) await ask('call_operation', { name: 'list_customers' }, few);
    expect((await ask('call_operation', { name: 'list_customers' }, few)).content[0]?.text).toContain('rate_limited');
    await eventually('the log has them', () => many.written(accountId).length >= 4);
    expect(many.written(accountId).map(({ source, tool, operation }) => [source, tool, operation])).toEqual(
      expect.arrayContaining([['mcp', 'list_customers', 'get_customers']]),
    );
  });

  it('what is searched or called that there is not is told in words, with what there is', async () => {
    expect((await ask('search_operations', { query: '' })).content[0]?.text).toContain('"field":"query"');
    const nothing = JSON.parse((await ask('search_operations', { query: 'zzz' })).content[0]!.text) as {
      all_names: string[];
    };
    expect(nothing.all_names).toHaveLength(34);
    expect((await ask('call_operation', { name: 'drop' })).content[0]?.text).toContain('search_operations gave');
  });

  it('a key that sees few is told of each', async () => {
    const { secret: writer } = await many.newKey('unlimited', ['customers:write']);
    many.useTools([
      ...TOOLS.slice(0, 4),
      ...Array.from({ length: 30 }, (_, at) => ({ match: 'GET /customers', name: `r_${at}` })),
    ]);
    const { tools } = resultOf(await many.modern(writer, 'tools/list')) as unknown as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toEqual(['get_usage', 'create_customer', 'delete_customer']);
  });
});

describe('what is free', () => {
  it('get_usage says what is left, and costs nothing', async () => {
    const { secret: few, keyId } = await world.newKey('few');
    await call('list_customers', {}, few);
    for (let at = 0; at < 3; at++) {
      const report = JSON.parse((await call('get_usage', {}, few)).content[0]!.text) as Record<string, unknown>;
      expect(report).toMatchObject({
        api_key_id: keyId,
        windows: [{ policy: 'key-minute', limit: 2, used: 1, remaining: 1 }],
      });
    }
  });

  it('is limited to 120 a minute of a key, and then says so with 429', async () => {
    const { secret: of } = await world.newKey('unlimited');
    const statuses: number[] = [];
    for (let at = 0; at < 121; at++) statuses.push((await world.modern(of, 'tools/list')).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(120);
    const refused = await world.modern(of, 'tools/list');
    expect([refused.status, refused.json()['code']]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect((await refusal('get_usage', {}, of))['used_up']).toEqual(['mcp-free-calls']);
    // What costs something goes on.
    world.answerWith(json({}));
    expect((await call('list_customers', {}, of)).isError).toBeUndefined();
  });
});

describe('what is counted', () => {
  it('a call counts once, as the request that it stands for: in usage, in its fields, in the log', async () => {
    world.answerWith(json({}));
    const { secret: of, accountId, keyId } = await world.newKey('hundred');
    const answer = await world.modern(of, 'tools/call', { name: 'list_customers' });
    expect(answer.headers['ratelimit']).toMatch(/^"account-minute";r=99;/);
    const usage = await send(`${world.url}/api/v1/usage`, { headers: { authorization: `Bearer ${of}` } });
    expect(usage.json()).toMatchObject({ windows: [{ policy: 'account-minute', used: 1 }] });
    await eventually('the log has it', () => world.written(accountId).some(({ tool }) => tool !== ''));
    expect(world.written(accountId).filter(({ operation }) => operation !== '')).toEqual([
      expect.objectContaining({
        keyId,
        operation: 'get_customers',
        method: 'GET',
        route: '/api/v1/customers',
        status: 200,
        source: 'mcp',
        tool: 'list_customers',
      }),
    ]);
  });
});

describe('a client that leaves', () => {
  it('ends its call: the backend is let go of', async () => {
    world.answerWith(() => undefined);
    const { body, headers } = modernMessage('tools/call', { name: 'list_customers' });
    const request = open(world.mcpUrl, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    });
    request.on('error', () => undefined);
    request.end(JSON.stringify(body));
    await eventually('the backend has it', () => world.backend.requests.length === 1);
    request.destroy();
    await eventually('the backend is let go of', () => world.backend.requests[0]?.aborted === true);
  });
});
