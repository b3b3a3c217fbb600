/** Several APIs in one file: rejected combinations, and which API an operation belongs to. */
import { describe, expect, it } from '@jest/globals';
import { configOf, OPENAPI, problemsOf } from '../../../test/support/config-files.js';

const SERVICE = "{ targets: ['http://127.0.0.1:1'], openapi: customers.yaml }";
const TWO = 'apis: [{ name: v1, basePath: /api/v1 }, { name: v2, basePath: /api/v2 }]';

function files(apis: string, more = '') {
  const services = `  old: ${SERVICE}\n  new: ${SERVICE.replace(' }', ', api: v2 }')}`;
  return { 'gateway.yaml': `${apis}\nservices:\n${services}\nplans: {}\n${more}`, 'customers.yaml': OPENAPI };
}

const messages = async (apis: string, more = ''): Promise<string[]> =>
  (await problemsOf(files(apis, more))).map(({ path, message }) => `${path}: ${message}`);

describe('apis', () => {
  it('lets two versions have the same operations, with IDs prefixed by the API name', async () => {
    const { operations } = await configOf(files(TWO));
    const [first, second] = [undefined, 'v2'].map((name) => operations.filter(({ api }) => api === name));
    expect(second?.map(({ id, template }) => `${id} ${template}`)).toEqual(
      first?.map(({ id, template }) => `v2.${id} ${template}`),
    );
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length);
  });

  it('applies an entry of `operations` to its `api`, or to the first API', async () => {
    const entries = 'operations: [{ match: GET /customers, cost: 2 }, { match: GET /customers, api: v2, cost: 3 }]\n';
    const { operations } = await configOf(files(TWO, entries));
    const costs = operations.filter(({ method, template }) => `${method} ${template}` === 'GET /customers');
    expect(costs.map(({ api, cost }) => [api, cost])).toEqual([
      [undefined, 2],
      ['v2', 3],
    ]);
  });

  it.each([
    ['api: { title: A }\n' + TWO, 'apis: stands beside `api`'],
    [TWO.replace('/api/v2', '/api/v1'), 'apis[1].basePath: /api/v1 and /api/v1 of `v1` take the same requests'],
    [TWO.replace('/api/v2', '/api/v1/new'), 'apis[1].basePath: /api/v1/new and /api/v1 of `v1` take the same requests'],
    [TWO.replace('name: v1', 'name: v2'), 'apis[1].name: `v2` is there already'],
    [TWO.replace('v2,', 'v3,'), 'services.new.api: no API is called `v2`'],
    [
      TWO.replace('/api/v2', '/api/v2, hosts: [a.example.com], publicUrl: "https://b.example.com"'),
      'apis[1].publicUrl: b.example.com is none of the `hosts` of this API, so its links would lead to 404',
    ],
  ])('refuses %s', async (apis, message) => {
    expect(await messages(apis)).toContain(message);
  });

  it.each([
    ['match: GET /customers', 'less than the 12 months'],
    ['match: GET /customers, api: v2', 'less than the 24 months'],
    ['match: GET /more, service: new, scopes: []', 'less than the 24 months'],
  ])('has its own support period for the operation { %s }', async (entry, message) => {
    const apis = TWO.replace('/api/v2', '/api/v2, supportMonths: 24');
    const dates = 'deprecation: "2027-01-01", sunset: "2027-12-01"';
    const more = `operations: [{ ${entry}, ${dates} }]\n`;
    expect(await messages(apis, more)).toEqual([expect.stringContaining(message)]);
  });

  it('may have the same base path under different hosts', async () => {
    const apis = `apis:
  - { name: v1, basePath: /v1, hosts: [a.example.com] }
  - { name: v2, basePath: /v1, hosts: [b.example.com] }`;
    expect((await configOf(files(apis))).operations.length).toBeGreaterThan(0);
    expect(await messages(apis.replace('b.example', 'A.example'))).toEqual([
      'apis[1].basePath: /v1 and /v1 of `v1` take the same requests',
    ]);
  });

  it('checks the life cycle dates of a version', async () => {
    const dates = 'deprecation: 2030-01-01, sunset: 2030-02-01';
    expect(await messages(TWO.replace('basePath: /api/v1', `basePath: /api/v1, ${dates}`))).toEqual([
      expect.stringContaining('apis[0].sunset: sunset (2030-02-01) is less than the 12 months after deprecation'),
    ]);
  });
});
