import { expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI, problemsOf } from '../../../test/support/config-files.js';

const files = (operation: string) => ({
  'gateway.yaml': [
    MINIMAL,
    'events: [customer.created]',
    `operations: [{ service: customers, scopes: [], ${operation} }]\n`,
  ].join('\n'),
  'customers.yaml': OPENAPI,
});

it('reads the event that an operation emits and the JSON pointer to its resource', async () => {
  const operation = 'match: POST /boats, emits: customer.created, emitsResource: /a~1b/id';
  const { operations } = await configOf(files(operation));
  expect(operations.find(({ template }) => template === '/boats')?.emits).toEqual({
    type: 'customer.created',
    resource: ['a/b', 'id'],
  });
  expect(operations.filter(({ emits }) => emits !== undefined)).toHaveLength(1);
});

it.each([
  ['match: POST /boats, emits: customer.creatd', 'operations[0].emits', 'is not defined in `events`'],
  ['match: POST /boats, emits: api_key.created', 'operations[0].emits', 'is not defined in `events`'],
  ['match: GET /boats, emits: customer.created', 'operations[0].emits', 'only for POST, PUT, PATCH and DELETE'],
  ['match: HEAD /boats, emits: customer.created', 'operations[0].emits', 'only for POST, PUT, PATCH and DELETE'],
  ['match: POST /boats, emitsResource: /id', 'operations[0].emitsResource', 'without `emits`'],
  ['match: POST /boats, emits: customer.created, emitsResource: id', 'operations[0].emitsResource', 'JSON Pointer'],
])('rejects %s at %s: %s', async (operation, path, words) => {
  const problems = await problemsOf(files(operation));
  expect(problems.map((problem) => problem.path)).toEqual([path]);
  expect(problems[0]?.message).toContain(words);
});
