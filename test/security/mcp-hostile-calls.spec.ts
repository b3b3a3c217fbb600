/**
 * Two hundred hostile calls to the MCP server. Each gets an error, none reaches the backend, and the server stays fast
 * for others.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { send, type Answer } from '../support/http.js';
import { MODERN, modernMessage, startMcpWorld, type McpWorld } from '../support/mcp-world.js';

const WANTED = 200;

let world: McpWorld;
let secret: string;
let reader: string;
let foreign: { readonly secret: string; readonly keyId: string };
beforeAll(async () => {
  world = await startMcpWorld();
  ({ secret } = await world.newKey('unlimited'));
  ({ secret: reader } = await world.newKey('unlimited', ['customers:read']));
  foreign = await world.newKey('unlimited');
});
afterAll(() => world?.stop());

interface Hostile {
  readonly what: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
}

const message = (params: unknown, method = 'tools/call', id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });

/** Returns a tool call in the current protocol version, with its required headers. */
function modern(what: string, name: string, args: unknown, more: Record<string, string> = {}, key?: string): Hostile {
  const { body, headers } = modernMessage('tools/call', { name, arguments: args });
  return { what, body: JSON.stringify(body), headers: { ...headers, ...more }, ...(key === undefined ? {} : { key }) };
}

function nested(depth: number, [begin, end]: readonly [string, string]): string {
  return begin.repeat(depth) + end.repeat(depth);
}

const DEEP = [65, 100, 1_000, 10_000, 100_000].flatMap((depth): Hostile[] => [
  {
    what: `${depth} lists in the arguments`,
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_customer","arguments":{"name":${nested(depth, ['[', ']'])}}}}`,
  },
  {
    what: `${depth} objects`,
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`,
  },
  { what: `${depth} lists that do not end`, body: '['.repeat(depth) },
  { what: `${depth} objects that do not end`, body: '{"a":'.repeat(depth) },
]);

const TYPES: readonly unknown[] = [
  null,
  0,
  -1,
  1.5,
  true,
  [],
  {},
  ['x'],
  { $gt: '' },
  { toString: 'x' },
  { length: 3 },
  [[[]]],
];
const WRONG_TYPES = TYPES.flatMap((value, at): Hostile[] => [
  modern(`type ${at} in the path`, 'get_customer', { id: value }),
  modern(`type ${at} in the body`, 'create_customer', { name: value }),
  modern(`type ${at} as arguments`, 'create_customer', value),
  { what: `type ${at} as a name`, body: message({ name: value, arguments: {} }) },
  {
    what: `type ${at} as parameters`,
    body: message(Array.isArray(value) || value === null || typeof value !== 'object' ? value : { name: value }),
  },
]);

const OWN_TOOLS = TYPES.flatMap((value, at): Hostile[] => [
  modern(`type ${at} to search for`, 'search_operations', { query: value }),
  modern(`type ${at} as a name to call`, 'call_operation', { name: value }),
  modern(`type ${at} as an argument of get_usage`, 'get_usage', { account_id: value }),
]);

const PROTOTYPES = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '__defineGetter__',
];
const PROTOTYPE_NAMES = PROTOTYPES.flatMap((name): Hostile[] => [
  { what: `${name} as a tool`, body: message({ name, arguments: {} }) },
  {
    what: `${name} as an argument`,
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_customer","arguments":{"${name}":{"prototype":{"polluted":1}},"name":7}}}`,
  },
  { what: `${name} as a method`, body: message({}, name) },
  {
    what: `${name} as parameters`,
    body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"${name}":{"polluted":1},"name":"x"}}`,
  },
]);

const OTHERS = ['create_customer', 'delete_customer'].flatMap((name): Hostile[] => [
  modern(`${name} without its scope`, name, { name: 'x', id: 'cus_1' }, {}, 'reader'),
  {
    what: `${name} without its scope, of old`,
    body: message({ name, arguments: name.startsWith('c') ? { name: 'x' } : { id: 'x' } }),
    key: 'reader',
  },
  modern(
    `call_operation of ${name} without its scope`,
    'call_operation',
    { name, arguments: { name: 'x' } },
    {},
    'reader',
  ),
  modern(`${name} of the key of others`, `${name}_of_others`, {}),
]);

const PATHS = [
  '..',
  '.',
  '../customers',
  '%2e%2e',
  'a/../../b',
  'a\\b',
  'a%2fb',
  'x;y',
  '',
  '\0',
  'a\r\nX-Api-Scopes: *',
  '../../../etc/passwd',
];
const IN_PATHS = PATHS.map((id): Hostile => modern(`${JSON.stringify(id)} in a path`, 'get_customer', { id }));

const HEADERS = [
  { 'mcp-protocol-version': '1900-01-01' },
  { 'mcp-protocol-version': MODERN.repeat(20) },
  { 'mcp-method': 'tools/list' },
  { 'mcp-name': 'list_customers' },
  { 'mcp-name': '=?base64?%%%?=' },
  { 'mcp-name': `=?base64?${Buffer.from('get_customer').toString('base64')}?=` },
  { 'mcp-name': '__proto__' },
  { host: 'evil.example' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/jsonp' },
  { accept: 'text/html' },
  { authorization: 'Bearer x' },
  { authorization: 'Basic eDp5' },
] satisfies Record<string, string>[];
const WRONG_HEADERS = HEADERS.map((headers): Hostile =>
  modern(JSON.stringify(headers), 'delete_customer', { id: 'x' }, headers as Record<string, string>),
);

const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'delete_customer', arguments: { id: 'x' } },
};
const BATCHES = [1, 2, 100, 5_000].map((count): Hostile => ({
  what: `a batch of ${count}`,
  body: JSON.stringify(Array.from({ length: count }, () => CALL)),
}));

const ODD: readonly Hostile[] = [
  { what: 'nothing', body: '' },
  { what: 'two messages', body: JSON.stringify(CALL) + JSON.stringify(CALL) },
  {
    what: 'half a character',
    body: Buffer.concat([Buffer.from('{"jsonrpc":"2.0","a":"'), Buffer.from([0xc3]), Buffer.from('"}')]),
  },
  {
    what: 'half of a pair in a name',
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud800"}}',
  },
  { what: 'NaN', body: '{"jsonrpc":"2.0","id":NaN,"method":"ping"}' },
  { what: 'an endless number', body: `{"jsonrpc":"2.0","id":${'9'.repeat(400)},"method":"tools/call","params":{}}` },
  { what: 'a long id', body: message(CALL.params, 'tools/call', 'x'.repeat(2_000)) },
  { what: 'an id that is an object', body: message(CALL.params, 'tools/call', {}) },
  { what: 'a long method', body: message({}, 'x'.repeat(100_000)) },
  { what: 'a method with ends of lines', body: message({}, 'tools/call\r\nX: y') },
  { what: 'a secret as a tool', body: message({ name: 'tg_live_0000000000', arguments: {} }) },
  { what: 'a megabyte and one', body: `"${'x'.repeat(1024 * 1024)}"` },
  {
    what: 'a large argument that is not taken',
    body: message({ name: 'create_customer', arguments: { nonsense: 'x'.repeat(900_000) } }),
  },
  {
    what: 'a hundred thousand arguments',
    body: message({
      name: 'create_customer',
      arguments: Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`a${at}`, at])),
    }),
  },
  { what: 'a response', body: '{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}' },
  { what: 'an error', body: '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}' },
  { what: 'a resource of this machine', body: message({ uri: 'file:///etc/passwd' }, 'resources/read') },
  { what: 'a resource elsewhere', body: message({ uri: 'http://169.254.169.254/latest/meta-data' }, 'resources/read') },
  { what: 'a cursor that is none', body: message({ cursor: '../../x' }, 'tools/list') },
  { what: 'a cursor that is an object', body: message({ cursor: { a: 1 } }, 'tools/list') },
  {
    what: 'a prompt with an object for a text',
    body: message({ name: 'explain_refusal', arguments: { refusal: {} } }, 'prompts/get'),
  },
  {
    what: 'a prompt with a long text',
    body: message({ name: 'explain_refusal', arguments: { refusal: 'x'.repeat(100_000) } }, 'prompts/get'),
  },
];

const ALL: readonly Hostile[] = [
  ...DEEP,
  ...WRONG_TYPES,
  ...OWN_TOOLS,
  ...PROTOTYPE_NAMES,
  ...OTHERS,
  ...IN_PATHS,
  ...WRONG_HEADERS,
  ...BATCHES,
  ...ODD,
];

const send_ = ({ body, headers = {}, key }: Hostile): Promise<Answer> =>
  send(world.mcpUrl, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key === 'reader' ? reader : secret}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    },
    body,
  });

/** Returns the error of a response, or undefined. */
function refusalIn(answer: Answer): unknown {
  const body = answer.json<{
    code?: string;
    error?: { code: number; message: string };
    result?: { isError?: boolean };
  }>();
  if (body.error !== undefined) return body.error.message.length > 0 ? body.error.code : undefined;
  if (body.result?.isError === true) return 'isError';
  return answer.status >= 400 ? body.code : undefined;
}

describe('hostile MCP calls', () => {
  it(`are at least ${WANTED}`, () => {
    expect(ALL.length).toBeGreaterThanOrEqual(WANTED);
    expect(new Set(ALL.map(({ what }) => what)).size).toBe(ALL.length);
  });

  it.each(ALL.map((each) => [each.what, each] as const))('%s', async (_what, hostile) => {
    const before = world.backend.requests.length;
    const answer = await send_(hostile);
    expect([answer.text.slice(0, 300), refusalIn(answer)]).toEqual([expect.any(String), expect.anything()]);
    expect(answer.status).toBeLessThan(500);
    expect(world.backend.requests.length).toBe(before);
    expect(answer.text).not.toContain(secret);
  });

  it('have not polluted the object prototype', () => {
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  it('do not make the usage of one account show a key of another', async () => {
    const answer = await world.modern(secret, 'tools/call', { name: 'get_usage' });
    expect(answer.text).not.toContain(foreign.keyId);
  });

  it('leave the server answering in less than 100 ms on average', async () => {
    const startedMs = performance.now();
    for (let at = 0; at < 50; at++) expect((await world.modern(foreign.secret, 'server/discover')).status).toBe(200);
    expect((performance.now() - startedMs) / 50).toBeLessThan(100);
  });
});
