/** The handler of an `Idempotency-Key`: set by the operation, else the service, its document, or the default. */
import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, problemsOf } from '../../../test/support/config-files.js';

const documentWith = (parameters: string) => `openapi: 3.1.0
info: { title: Orders, version: '1' }
security: [{ key: ['orders:write'] }]
components:
  parameters:
    Key: { name: IDEMPOTENCY-KEY, in: header, schema: { type: string } }
    Other: { name: idempotency-key, in: query, schema: { type: string } }
paths:
  /orders:
    ${parameters}
    get: { responses: { 200: { description: ok } } }
    post: { responses: { 201: { description: ok } } }
    patch: { responses: { 200: { description: ok } } }
    put: { responses: { 200: { description: ok } } }
    delete: { responses: { 204: { description: ok } } }
`;
const HONOURED = "parameters: [{ $ref: '#/components/parameters/Key' }]";

/** Configuration with a setting of the service. */
const saying = (service: string): string => MINIMAL.replace('plans:', `    ${service}\nplans:`);

/** Returns the methods whose keys the gateway handles, with their retention. */
async function keptBy(service: string, operations = '', parameters = ''): Promise<Record<string, number>> {
  const yaml = saying(service);
  const files = { 'gateway.yaml': yaml + operations, 'customers.yaml': documentWith(parameters) };
  const config = await configOf(files);
  return Object.fromEntries(
    config.operations.flatMap(({ method, idempotency }) =>
      idempotency === undefined ? [] : [[method, idempotency.retentionMs]],
    ),
  );
}

const DAY = 86_400_000;

describe('idempotency keys', () => {
  it('are handled by the gateway for POST and PATCH, for a day, by default', async () => {
    expect(await keptBy('')).toEqual({ POST: DAY, PATCH: DAY });
  });

  it('are left to the backend if its document has the header, in any letter case', async () => {
    expect(await keptBy('', '', HONOURED)).toEqual({});
    expect(await keptBy('', '', HONOURED.replace('/Key', '/Other'))).toEqual({ POST: DAY, PATCH: DAY });
  });

  it.each([
    ['gateway', { POST: DAY, PATCH: DAY }],
    ['backend', {}],
    ['off', {}],
  ])('are handled as the service says: %s, whatever its document has', async (mode, kept) => {
    expect(await keptBy(`idempotency: ${mode}`, '', HONOURED)).toEqual(kept);
    expect(await keptBy(`idempotency: ${mode}`)).toEqual(kept);
  });

  it('are handled as the operation says, for the retention that it or the service sets', async () => {
    const entry = (text: string) => `operations: [{ match: POST /orders, ${text} }]\n`;
    expect(await keptBy('idempotencyRetention: 1h', entry('idempotency: off'))).toEqual({ PATCH: 3_600_000 });
    expect(await keptBy('idempotency: off', entry('idempotency: gateway, idempotencyRetention: 2m'))).toEqual({
      POST: 120_000,
    });
    expect(await keptBy('', entry('idempotencyRetention: 24d'), HONOURED)).toEqual({});
  });

  it.each([
    ['services', 'idempotency: perhaps', ''],
    ['services', 'idempotencyRetention: 59s', ''],
    ['services', 'idempotencyRetention: 25d', ''],
    ['operations', '', 'operations: [{ match: GET /orders, idempotency: gateway }]\n'],
    ['operations', '', 'operations: [{ match: PUT /orders, idempotencyRetention: 1h }]\n'],
  ])('cannot be configured in %s by %j%j', async (where, service, operations) => {
    const problems = await problemsOf({
      'gateway.yaml': saying(service) + operations,
      'customers.yaml': documentWith(''),
    });
    expect(problems.map(({ path }) => path.split(/[.[]/)[0])).toEqual([where]);
  });
});
