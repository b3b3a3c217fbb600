/** The public description has `Idempotency-Key` for the operations that accept one, and for no others. */
import { expect, it } from '@jest/globals';
import { configOf, MINIMAL } from '../../test/support/config-files.js';
import { buildPublicOpenApi } from './public-openapi.js';

const documentOf = (paths: string) => `openapi: 3.1.0
info: { title: Orders, version: '1' }
security: [{ key: ['orders:write'] }]
paths:
  /orders:
${paths}
`;
const POST = '    post: { responses: { 201: { description: Made. } } }';
const DESCRIBED = `    post:
      responses:
        201: { description: Made. }
        409: { description: The number is taken. }
        422: { description: Fields are wrong. }`;
const READING =
  '    get: { responses: { 200: { description: ok } } }\n    put: { responses: { 200: { description: ok } } }';

interface Described {
  readonly parameters?: readonly unknown[];
  readonly responses: Record<string, { $ref?: string; description?: string; headers?: object }>;
}

async function described(paths: string, service = '') {
  const yaml = MINIMAL.replace('plans:', `    ${service}\nplans:`);
  const document = buildPublicOpenApi(await configOf({ 'gateway.yaml': yaml, 'customers.yaml': documentOf(paths) }));
  const { paths: all, components } = document as unknown as {
    paths: Record<string, Record<string, Described>>;
    components: Record<string, Record<string, unknown>>;
  };
  return { operations: all['/orders']!, components };
}

const KEY = { $ref: '#/components/parameters/IdempotencyKey' };

it('documents the Idempotency-Key parameter, the replayed response and its errors on POST and PATCH', async () => {
  const patch = '    patch: { responses: { 200: { description: ok } } }';
  const { operations, components } = await described(`${POST}\n${patch}\n${READING}`);
  for (const method of ['post', 'patch']) {
    const { parameters, responses } = operations[method]!;
    expect(parameters).toEqual([KEY]);
    expect(responses['409']).toEqual({ $ref: '#/components/responses/IdempotencyConflict' });
    expect(responses['422']).toEqual({ $ref: '#/components/responses/IdempotencyMismatch' });
    const success = responses[method === 'post' ? '201' : '200'];
    expect(Object.keys(success?.headers ?? {})).toEqual(
      expect.arrayContaining(['Idempotent-Replayed', 'Idempotency-Stored']),
    );
  }
  for (const method of ['get', 'put']) {
    expect(operations[method]).not.toHaveProperty('parameters');
    expect(Object.keys(operations[method]!.responses)).not.toContain('409');
  }
  expect(components['responses']).toMatchObject({ IdempotencyConflict: {}, IdempotencyMismatch: {} });
});

it('extends the service descriptions of the same status, and leaves no component unused', async () => {
  const { operations, components } = await described(DESCRIBED);
  const { responses } = operations['post']!;
  expect(responses['409']?.description).toMatch(
    /^The number is taken\.\n\nThe first request with this `Idempotency-Key`/,
  );
  expect(responses['422']?.description).toMatch(/^Fields are wrong\.\n\nThe `Idempotency-Key` was sent with another/);
  expect(Object.keys(responses['409']?.headers ?? {})).toContain('Retry-After');
  expect(Object.keys(components['responses']!)).not.toContain('IdempotencyConflict');
  expect(Object.keys(components['parameters']!)).toContain('IdempotencyKey');
});

it.each([
  ['nothing takes one', READING, ''],
  ['the service has it off', POST, 'idempotency: off'],
  ['the backend has it', POST, 'idempotency: backend'],
])('documents nothing if %s', async (_why, paths, service) => {
  const { operations, components } = await described(paths, service);
  // Error codes are not checked, because they cover the whole product.
  expect(JSON.stringify([operations, components])).not.toMatch(/Idempotency|Idempotent/);
});
