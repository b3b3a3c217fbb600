/** Event types are checked with their schemas and examples, so that mistakes show before the first event. */
import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf, warningsOf } from '../../test/support/config-files.js';
import { compileDataSchema } from './data-schema.js';

const SCHEMA = '{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}';
const files = (events: string, more: Readonly<Record<string, string>> = {}) => ({
  'gateway.yaml': `${MINIMAL}\nevents: ${events}\n`,
  'customers.yaml': OPENAPI,
  'schema.json': SCHEMA,
  ...more,
});

it('reads event types as a list of names, or as a map with schemas, descriptions and examples', async () => {
  const plain = { schema: null, description: null, example: null };
  expect((await configOf(files('[a.b, a.c]'))).eventTypes).toEqual([
    { name: 'a.b', ...plain },
    { name: 'a.c', ...plain },
  ]);
  const map = '{ a.b: { schema: ./schema.json, description: It began., example: ./one.json }, a.c: {} }';
  expect((await configOf(files(map, { 'one.json': '{"name":"Ana"}' }))).eventTypes).toEqual([
    { name: 'a.b', schema: JSON.parse(SCHEMA), description: 'It began.', example: { name: 'Ana' } },
    { name: 'a.c', ...plain },
  ]);
});

it.each([
  ['{ a.b: { schema: ./none.json } }', {}, 'events["a.b"].schema', 'cannot be read'],
  ['{ a.b: { schema: ./s.json } }', { 's.json': '{"typ":"object"}' }, 'events["a.b"].schema', 'unknown keyword: "typ"'],
  ['{ a.b: { schema: ./s.json } }', { 's.json': '{"format":"mail"}' }, 'events["a.b"].schema', 'unknown format "mail"'],
  [
    '{ a.b: { schema: ./s.json } }',
    { 's.json': '{"$ref":"https://example.com/x.json"}' },
    'events["a.b"].schema',
    "can't resolve reference",
  ],
  ['{ a.b: { schema: ./s.json } }', { 's.json': '[]' }, 'events["a.b"].schema', 'a map is expected'],
  [
    '{ a.b: { schema: ./schema.json, example: ./one.json } }',
    { 'one.json': '{"name":1}' },
    'events["a.b"].example',
    'the example, at /name, must be string',
  ],
  ['{ created: {} }', {}, 'events.created', 'must be resource.verb'],
])('rejects events: %s with files %j at %s: %s', async (events, more, path, words) => {
  const problems = await problemsOf(files(events, more));
  expect(problems.map((problem) => problem.path)).toEqual([path]);
  expect(problems[0]?.message).toContain(words);
});

describe('webhooks of an OpenAPI document', () => {
  const webhook = (schema: string, more = ''): string =>
    `{ post: { summary: It happened., requestBody: { content: { application/json: { schema: ${schema}${more} } } } } }`;
  const document = (webhooks: string, schemas = '{}'): string =>
    `${OPENAPI.replace('components:', `components:\n  schemas: ${schemas}`)}\nwebhooks: ${webhooks}\n`;
  const withDocument = (text: string, events = '[]', more: Readonly<Record<string, string>> = {}) => ({
    ...files(events, more),
    'customers.yaml': text,
  });

  it('become event types with the schema of their data and everything it refers to', async () => {
    const envelope =
      '{ type: object, properties: { type: { type: string }, data: { $ref: "#/components/schemas/Tree" } } }';
    const tree = '{ type: object, x-go: T, properties: { x-name: {}, child: { $ref: "#/components/schemas/Tree" } } }';
    const example = ', example: { type: tree.felled, data: { x-name: Oak } }';
    const text = document(`{ tree.felled: ${webhook(envelope, example)} }`, `{ Tree: ${tree} }`);
    const { eventTypes = [] } = await configOf(withDocument(text));
    expect(eventTypes).toEqual([
      {
        name: 'tree.felled',
        description: 'It happened.',
        example: { 'x-name': 'Oak' },
        schema: {
          $ref: '#/$defs/Tree',
          $defs: {
            Tree: { type: 'object', properties: { 'x-name': {}, child: { $ref: '#/$defs/Tree' } } },
          },
        },
      },
    ]);
    const check = await compileDataSchema(eventTypes[0]?.schema ?? {});
    expect([check({ child: {} }), check({ child: { child: 1 } })]).toEqual([
      undefined,
      { pointer: '/child/child', detail: 'must be object' },
    ]);
  });

  it('complete types that `events` names, but do not replace a schema given there', async () => {
    const text = document(`{ a.b: ${webhook('{ type: object, required: [other] }')} }`);
    const own = await configOf(withDocument(text, '{ a.b: { schema: ./schema.json } }'));
    expect(own.eventTypes).toMatchObject([{ schema: JSON.parse(SCHEMA), description: 'It happened.', example: null }]);
    const listed = await configOf(withDocument(text, '[a.b]'));
    expect(listed.eventTypes).toMatchObject([{ schema: { required: ['other'] } }]);
  });

  it('can be emitted by an operation', async () => {
    const operations = '\noperations: [{ match: POST /customers, emits: a.b }]\n';
    const text = document(`{ a.b: ${webhook('{ type: object }')} }`);
    const given = withDocument(text);
    const problems = await problemsOf({ ...given, 'gateway.yaml': `${given['gateway.yaml']}${operations}` });
    expect(problems.filter(({ path }) => path.includes('emits'))).toEqual([]);
  });

  it.each([
    [webhook('{ type: object, properties: { a: { format: mail } } }'), 'unknown format "mail"'],
    [webhook('{ type: object, required: [a] }', ', example: {}'), 'the example must have required property'],
  ])('that are invalid are reported at their place in the document: %s', async (described, words) => {
    const problems = await problemsOf(withDocument(document(`{ a.b: ${described} }`)));
    expect(problems).toMatchObject([{ path: 'webhooks["a.b"]', message: expect.stringContaining(words) }]);
    expect(problems[0]?.file).toMatch(/customers\.yaml$/);
  });

  it('with one name in two services need one schema; names that are not event types only cause a warning', async () => {
    const text = document(`{ a.b: ${webhook('{ type: object }')} }`);
    const two = MINIMAL.replace(
      'services:',
      'services:\n  tours: { targets: [http://127.0.0.1:4002], openapi: ./tours.yaml }',
    );
    const tours =
      text.slice(0, text.indexOf('paths:')) +
      `paths: {}\nwebhooks: { a.b: ${webhook('{ type: object, minProperties: 1 }')} }\n`;
    const given = (events: string) => ({
      'gateway.yaml': `${two}\nevents: ${events}\n`,
      'customers.yaml': text,
      'tours.yaml': tours,
      'schema.json': SCHEMA,
    });
    expect((await problemsOf(given('[]'))).map(({ message }) => message)).toEqual([
      '`a.b` is a webhook of `tours` already, with another schema',
    ]);
    expect(await problemsOf(given('{ a.b: { schema: ./schema.json } }'))).toEqual([]);
    // Versions of a service usually describe the same events.
    const same = tours.replace(', minProperties: 1', '');
    expect(await problemsOf({ ...given('[]'), 'tours.yaml': same })).toEqual([]);
    const reworded = same.replace('type: object', 'description: In other words., type: object');
    expect(reworded).not.toBe(same);
    expect(await problemsOf({ ...given('[]'), 'tours.yaml': reworded })).toEqual([]);
    const warnings = await warningsOf(withDocument(document(`{ newPet: ${webhook('{ type: object }')} }`)));
    expect(warnings.map(({ message }) => message)).toEqual([
      'the webhook `newPet` is no type of event, and is not read',
    ]);
  });
});

it('requires an eventsToken of at least 32 characters', async () => {
  const withToken = MINIMAL.replace('    openapi:', '    eventsToken: hunter2\n    openapi:');
  const problems = await problemsOf({ 'gateway.yaml': withToken, 'customers.yaml': OPENAPI });
  expect(problems[0]?.message).toContain('at least 32 characters');
});

it.each([
  [{ required: ['a'] }, {}, 'must have required property'],
  [JSON.parse('{"if":{"required":["a"]},"then":{"required":["b"]}}'), { a: 1 }, 'must have required property'],
  [{ properties: { a: {} }, unevaluatedProperties: false }, { b: 1 }, 'must NOT have unevaluated properties'],
  [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'must have property b'],
  [{ properties: { a: { format: 'email' } } }, { a: 'x' }, 'must match format'],
  [{ properties: { a: { type: 'string', example: 'x' } } }, { a: 'x' }, undefined],
])('schema %j, data %j: %s', async (schema, data, words) => {
  const fault = (await compileDataSchema(schema))(data);
  expect(fault?.detail ?? '').toContain(words ?? '');
  expect(fault === undefined).toBe(words === undefined);
});
