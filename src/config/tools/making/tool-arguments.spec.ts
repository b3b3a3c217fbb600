/** Argument names for the parameters and body of an operation, and hints about the effects of a tool. */
import { describe, expect, it } from '@jest/globals';
import { cpuMsOf } from '../../../../test/support/cpu-time.js';
import { json, propertiesOf, toolOf, toolsOf } from '../../../../test/support/tools.js';

describe('arguments', () => {
  const named = (parameters: unknown[], body?: unknown) => {
    const tool = toolOf('POST /x/{id}', {
      parameters,
      ...(body === undefined ? {} : { requestBody: { required: true, ...json(body) } }),
    });
    return Object.keys(propertiesOf(tool.inputSchema));
  };
  const parameter = (name: string, where = 'query') => ({ name, in: where, required: where === 'path', schema: {} });

  it.each([
    ['each by its name', [parameter('id', 'path'), parameter('a')], undefined, ['id', 'a']],
    ['an undescribed path parameter, too', [], undefined, ['id']],
    [
      'in letters that every client takes',
      [parameter('filter[status]'), parameter('$top'), parameter('é')],
      undefined,
      ['id', 'filter_status', 'top', 'value'],
    ],
    [
      'apart where two are called alike',
      [parameter('id'), parameter('id', 'header')],
      undefined,
      ['id', 'query_id', 'header_id'],
    ],
    ['with none that every object has', [parameter('__proto__')], undefined, ['id', '_proto_']],
    [
      'also as objects have them',
      [parameter('constructor'), parameter('toString')],
      undefined,
      ['id', 'constructor', 'toString'],
    ],
    [
      'no longer than 64',
      [parameter('x'.repeat(100)), parameter(`${'x'.repeat(100)}y`)],
      undefined,
      ['id', 'x'.repeat(64), `query_${'x'.repeat(58)}`],
    ],
    [
      'beside the fields of the body',
      [parameter('a')],
      { type: 'object', properties: { b: {}, c: {} } },
      ['id', 'a', 'b', 'c'],
    ],
    [
      'beside a body whose field has their name',
      [parameter('a')],
      { type: 'object', properties: { b: {}, a: {} } },
      ['id', 'a', 'body'],
    ],
    [
      'beside a body of which one is called so',
      [parameter('body')],
      { type: 'array', items: {} },
      ['id', 'body', 'request_body'],
    ],
    [
      'beside fields from allOf',
      [],
      { allOf: [{ type: 'object', properties: { b: {} } }, { properties: { c: {} } }] },
      ['id', 'b', 'c'],
    ],
    ['beside a body with alternatives', [], { oneOf: [{ type: 'object' }, { type: 'array' }] }, ['id', 'body']],
    [
      'beside a body with free fields',
      [],
      { type: 'object', properties: { b: {} }, additionalProperties: { type: 'string' } },
      ['id', 'body'],
    ],
    [
      'without Accept, Content-Type and Authorization',
      [parameter('Accept', 'header'), parameter('authorization', 'header'), parameter('X-A', 'header')],
      undefined,
      ['id', 'X-A'],
    ],
    [
      'without what the connection has, and cookies',
      [{ ...parameter('Transfer-Encoding', 'header') }, parameter('c', 'cookie')],
      undefined,
      ['id'],
    ],
  ])('are %s', (_case, parameters, body, names) => {
    expect(named(parameters, body)).toEqual(names);
  });

  it('are one if two headers differ only in case, with the schema of the operation', () => {
    const shared = { parameters: [{ ...parameter('X-Mode', 'header'), schema: { enum: ['path'] } }] };
    const own = { parameters: [{ ...parameter('x-mode', 'header'), schema: { enum: ['op'] } }] };
    const get = { operationId: 'op', 'x-mcp': true, responses: { 200: { description: 'ok' } }, ...own };
    const [tool] = toolsOf({ paths: { '/x': { ...shared, get } } }).tools;
    expect(propertiesOf(tool?.inputSchema)).toEqual({ 'x-mode': { enum: ['op'] } });
  });

  it('for pagination are recognized by name', () => {
    const parameters = ['limit', 'cursor', 'q', 'page_size', 'pageToken', 'starting_after', 'per-page', 'language'].map(
      (name) => parameter(name),
    );
    const tool = toolOf('GET /x', { parameters });
    expect(tool.pagingArguments).toEqual(['limit', 'cursor', 'page_size', 'pageToken', 'starting_after', 'per-page']);
  });
});

it.each([
  ['GET', '200', {}, [true, false, true]],
  ['HEAD', '200', {}, [true, false, true]],
  ['POST', '201', {}, [false, false, false]],
  ['POST', '200', {}, [false, true, false]],
  ['PUT', '200', {}, [false, true, true]],
  ['PATCH', '200', {}, [false, true, false]],
  ['DELETE', '204', {}, [false, true, true]],
  ['POST', '200', { readOnly: true }, [true, false, true]],
  ['PATCH', '200', { destructive: false, idempotent: true }, [false, false, true]],
])(
  '%s with a response %s and %j has the hints readOnly, destructive, idempotent of %j',
  (method, status, settings, hints) => {
    const { annotations } = toolOf(`${method} /x`, {
      'x-mcp': settings,
      responses: { [status]: { description: 'ok' } },
    });
    const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
    expect([readOnlyHint, destructiveHint, idempotentHint, openWorldHint]).toEqual([...hints, false]);
  },
);

it('creates two thousand tools within one second', () => {
  const schemas = {
    Boat: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, owner: { $ref: '#/components/schemas/Owner' } },
    },
    Owner: {
      type: 'object',
      properties: { name: { type: 'string' }, boats: { type: 'array', items: { $ref: '#/components/schemas/Boat' } } },
    },
  };
  const boat = json({ $ref: '#/components/schemas/Boat' });
  const operation = (method: string, index: number) => ({
    operationId: `${method}Boat${index}`,
    description: 'Does something with a boat of the account.',
    ...(method === 'put' ? { requestBody: { required: true, ...boat } } : {}),
    responses: { '200': { description: 'ok', ...boat } },
  });
  const pathsWith = (more: object) =>
    Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [
        `/boats${index}/{id}`,
        Object.fromEntries(['get', 'put'].map((method) => [method, { ...operation(method, index), ...more }])),
      ]),
    );
  const paths = pathsWith({ 'x-mcp': true });
  const without = pathsWith({});
  const timed = (given: Readonly<Record<string, unknown>>): [number, number] => {
    let count = 0;
    const ms = cpuMsOf(() => (count = toolsOf({ paths: given, components: { schemas } }).tools.length));
    return [count, ms];
  };
  timed(without);
  const [, beforeMs] = timed(without);
  const [count, ms] = timed(paths);
  expect(count).toBe(2_000);
  expect(ms - beforeMs).toBeLessThan(1_000);
}, 120_000);
