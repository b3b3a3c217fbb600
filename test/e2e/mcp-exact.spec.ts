/** Tool calls pass data on unchanged or refuse it: digits, strings and structure, to the backend and back. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { send } from '../support/http.js';
import { startMcpWorld, type McpWorld, type ToolWords } from '../support/mcp-world.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { BROKEN, DOCUMENT, saidBy } from '../support/random-json.js';

/** Snowflake ID. JavaScript rounds it to 1234567890123456800. */
const ID = '1234567890123456789';
const INT64 = { type: 'integer', format: 'int64' };
const SCOPES = ['pets:all'];
const BATCHES = 300;
const BATCH = 30;
const BROKEN_RUNS = 1_000;

const PET = { type: 'object', properties: { id: INT64, price: { type: 'number' }, name: { type: 'string' } } };
const TOOLS: readonly ToolWords[] = [
  {
    match: 'GET /pets/{id}',
    name: 'get_pet',
    scopes: SCOPES,
    required: ['id'],
    properties: { id: INT64 },
    response: PET,
  },
  { match: 'DELETE /pets/{id}', name: 'delete_pet', scopes: SCOPES, required: ['id'], properties: { id: INT64 } },
  {
    match: 'GET /pets',
    name: 'list_pets',
    scopes: SCOPES,
    properties: { ids: { type: 'array', items: INT64 }, price: {} },
  },
  {
    match: 'POST /pets',
    name: 'add_pet',
    scopes: SCOPES,
    properties: { owner: INT64, of: { type: 'object', properties: { ids: { type: 'array', items: INT64 } } }, any: {} },
    response: { type: 'object' },
  },
];

let world: McpWorld;
let secret: string;
let logFile: string;
beforeAll(async () => {
  logFile = join(temporaryFolder('mcp-exact'), 'log');
  world = await startMcpWorld({ tools: TOOLS, logFile });
  ({ secret } = await world.newKey('unlimited'));
});
afterAll(() => world?.stop());

interface Said {
  readonly result?: {
    readonly isError?: boolean;
    readonly content: readonly { readonly text: string }[];
    readonly structuredContent?: unknown;
  };
  readonly error?: { readonly message: string };
}

/** Calls a tool with these bytes as its JSON arguments. */
async function call(name: string, args: string | Buffer, id = '1') {
  const begin = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"${name}","arguments":`;
  const answer = await send(world.mcpUrl, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: Buffer.concat([Buffer.from(begin), Buffer.from(args as string), Buffer.from('}}')]),
  });
  return { ...answer, said: answer.json<Said>() };
}

/** Sets the response of the backend. Without a body, the backend returns the body that it received. */
function respond(body?: string | Buffer): void {
  world.answerWith((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(body ?? world.backend.requests.at(-1)?.body);
  });
}

/** Returns the structured content of a result as raw JSON text. */
const structuredText = (text: string): string => /"structuredContent":(.*)\}\}$/s.exec(text)?.[1] ?? '';

describe('a number beyond 2^53', () => {
  it.each([
    ['get_pet', `{"id":${ID}}`, `GET /pets/${ID}`, ''],
    ['delete_pet', `{"id":${ID}}`, `DELETE /pets/${ID}`, ''],
    ['delete_pet', `{"id":-${ID}}`, `DELETE /pets/-${ID}`, ''],
    ['list_pets', `{"ids":[${ID},1.0,2e1],"price":1.10}`, `GET /pets?ids=${ID}&ids=1&ids=20&price=1.10`, ''],
    ['add_pet', `{"owner":${ID},"of":{"ids":[${ID}]}}`, 'POST /pets', `{"owner":${ID},"of":{"ids":[${ID}]}}`],
    ['add_pet', '{"any":[1.10,1e400,-0.0]}', undefined, ''],
    [
      'add_pet',
      '{"any":[1.10,1E4,-0.0,0.10000000000000000555]}',
      'POST /pets',
      '{"any":[1.10,1E4,-0.0,0.10000000000000000555]}',
    ],
  ])('in %s %s reaches the backend with all digits, or the call is refused', async (name, args, line, body) => {
    respond('{}');
    const { said } = await call(name, args);
    const [received] = world.backend.requests;
    expect(said.result?.isError ?? false).toBe(line === undefined);
    expect(received && [`${received.method} ${received.url}`, received.body.toString()]).toEqual(line && [line, body]);
  });

  it.each([
    ['get_pet', `{"id":"${ID}"}`, `/pets/${ID}`, ''],
    ['add_pet', `{"owner":"${ID}","of":{"ids":["${ID}"]}}`, '/pets', `{"owner":${ID},"of":{"ids":[${ID}]}}`],
    ['add_pet', `{"any":"${ID}"}`, '/pets', `{"any":"${ID}"}`],
  ])('in %s %s can be a string, which becomes a number where only an integer fits', async (name, args, url, body) => {
    respond('{}');
    await call(name, args);
    expect(world.backend.requests.map((request) => [request.url, request.body.toString()])).toEqual([[url, body]]);
  });

  it.each(['1234567890123456800', '9007199254740992', '-1.2345678901234568e18', '1234567890123456789.0'])(
    '%s may be rounded by the client, so the call is refused with advice to send a string',
    async (id) => {
      respond('{}');
      const { said } = await call('delete_pet', `{"id":${id}}`);
      expect(said.result?.isError).toBe(true);
      expect(said.result?.content[0]?.text).toContain('send it as a text with all of its digits');
      expect(world.backend.requests).toEqual([]);
      await call('delete_pet', '{"id":"1234567890123456800"}');
      expect(world.backend.requests.map(({ url }) => url)).toEqual(['/pets/1234567890123456800']);
    },
  );

  it('keeps its digits in the text and the structured content of a result', async () => {
    respond(`{"id":${ID},"price":10.10,"name":"x"}`);
    const { text, said } = await call('get_pet', '{"id":1}');
    expect(said.result?.content[0]?.text).toBe(`{"id":${ID},"price":10.10,"name":"x"}`);
    expect(structuredText(text)).toBe(`{"id":${ID},"price":10.10,"name":"x"}`);
    respond(`{\n  "id": ${ID},\n  "price": 10.10\n}`);
    expect((await call('get_pet', '{"id":1}')).said.result?.content[0]?.text).toBe(`{"id":${ID},"price":10.10}`);
  });

  it.each([ID, '1.0', '-0', '9007199254740993'])('as a message ID is returned unchanged: %s', async (id) => {
    respond('{}');
    expect((await call('get_pet', '{"id":1}', id)).text).toContain(`"id":${id},`);
  });
});

describe('a lone surrogate', () => {
  it('in a result is replaced in the structured content and escaped in the text', async () => {
    respond('{"id":1,"name":"a \\ud83d end","\\udc00":"\\ud83d\\ude00"}');
    const { text, said } = await call('get_pet', '{"id":1}');
    expect(said.result?.structuredContent).toEqual({ id: 1, name: 'a \ufffd end', '\ufffd': '\u{1f600}' });
    // The text has the escape sequence as plain characters, so a strict parser finds no lone surrogate.
    expect(text.replaceAll('\\\\', '')).not.toMatch(/\\ud[89a-f]/i);
    expect(said.result?.content[0]?.text).toContain('\\ud83d end');
  });

  it('in arguments is refused', async () => {
    respond('{}');
    const { status, said } = await call('add_pet', '{"any":"\\ud83d"}');
    expect([status, said.error?.message]).toEqual([400, 'The body has half of a surrogate pair in a text.']);
    expect(world.backend.requests).toEqual([]);
  });
});

it('a result field of the wrong type is left out of the structured content, and the log names it', async () => {
  respond('{"id":"not-a-number","name":5,"extra":true}');
  const { said } = await call('get_pet', '{"id":1}');
  expect(said.result?.structuredContent).toEqual({ extra: true });
  expect(said.result?.content[0]?.text).toBe('{"id":"not-a-number","name":5,"extra":true}');
  const misfit = () =>
    readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"tool_result_misfit"'));
  await eventually('the mismatch is logged', () => misfit().length > 0);
  expect(JSON.parse(misfit()[0]!)).toMatchObject({ tool: 'get_pet', fields: ['id', 'name'], times: 1 });
});

describe('random JSON documents', () => {
  it(`reach the backend as they were sent, and come back unchanged`, async () => {
    respond();
    const documents = fc.sample(DOCUMENT, BATCHES * BATCH);
    for (let batch = 0; batch < BATCHES; batch++) {
      const args = `{"any":[${documents.slice(batch * BATCH, (batch + 1) * BATCH).join(',')}]}`;
      const { text } = await call('add_pet', args);
      const received = world.backend.requests.at(-1)?.body.toString() ?? '';
      const expected = saidBy(args);
      expect(saidBy(received)).toEqual(expected);
      expect(saidBy(structuredText(text))).toEqual(expected);
      world.backend.requests.length = 0;
    }
  });

  it('that parsers can read in different ways are refused', async () => {
    respond();
    for (const broken of fc.sample(BROKEN, BROKEN_RUNS)) {
      const { status, said } = await call('add_pet', Buffer.concat([Buffer.from('{"any":'), broken, Buffer.from('}')]));
      expect([status, said.error?.message]).toEqual([400, expect.stringMatching(/^The body (?:is|has|must) /)]);
    }
    expect(world.backend.requests).toEqual([]);
  });
});
