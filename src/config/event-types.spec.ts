/** Types of events are checked with their schemas and examples, so that a mistake shows before an event comes. */
import { expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf } from '../../test/support/config-files.js';
import { compileDataSchema } from './data-schema.js';

const SCHEMA = '{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}';
const files = (events: string, more: Readonly<Record<string, string>> = {}) => ({
  'gateway.yaml': `${MINIMAL}\nevents: ${events}\n`,
  'customers.yaml': OPENAPI,
  'schema.json': SCHEMA,
  ...more,
});

it('reads names, or names with their schemas, descriptions and examples', async () => {
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
  ['{ created: {} }', {}, 'events', 'must be a list of'],
])('events: %s with %j is wrong at %s: %s', async (events, more, path, words) => {
  const problems = await problemsOf(files(events, more));
  expect(problems.map((problem) => problem.path)).toEqual([path]);
  expect(problems[0]?.message).toContain(words);
});

it('asks for a token that cannot be guessed, and repeats none', async () => {
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
])('data against %j: %j %s', async (schema, data, words) => {
  const fault = (await compileDataSchema(schema))(data);
  expect(fault?.detail ?? '').toContain(words ?? '');
  expect(fault === undefined).toBe(words === undefined);
});
