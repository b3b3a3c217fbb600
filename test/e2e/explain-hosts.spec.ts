/** Explain finds the API by host and path like a request, also if several APIs have the same base path. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { testOpenapi } from '../support/program-config.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';

const [FIRST, SECOND, NESTED] = ['a.example.com', 'b.example.com', 'n.example.com'];
const MANY = Array.from({ length: 25 }, (_, at) => `m${at}.example.com`);

interface Explanation {
  readonly operation: { readonly id: string; readonly hosts: readonly string[] } | null;
  readonly answer: { readonly status: number | null; readonly code: string | null };
}

let backend: Backend;
let gateway: RunningTrailgate;
let key: { readonly id: string; readonly secret: string };

beforeAll(async () => {
  backend = await startBackend(json({ ok: true }));
  const service = (api: string) => ({
    targets: [backend.url],
    openapi: './backend.openapi.yaml',
    scopes: [],
    api,
  });
  gateway = await startTrailgate({
    openapi: testOpenapi,
    config: {
      gateway: { hosts: ['any.example.com'] },
      api: null,
      apis: [
        { name: 'first', basePath: '/api/v1', title: 'First', hosts: [FIRST] },
        { name: 'second', basePath: '/api/v1', title: 'Second', hosts: [SECOND] },
        { name: 'nested', basePath: '/open/v1', title: 'Nested', hosts: [NESTED] },
        { name: 'all', basePath: '/open', title: 'All' },
        { name: 'many', basePath: '/many', title: 'Many', hosts: MANY },
        { name: 'others', basePath: '/many', title: 'Others' },
        { name: 'single', basePath: '/single', title: 'Single', hosts: [FIRST] },
      ],
      services: {
        backend: null,
        first: service('first'),
        second: { ...service('second'), exclude: [{ path: '/customers/{id}' }] },
        nested: service('nested'),
        all: service('all'),
        many: service('many'),
        others: service('others'),
        single: service('single'),
      },
      operations: null,
    },
  });
  ({ key } = await gateway.admin.newKey());
}, 60_000);
afterAll(async () => {
  await gateway?.stop();
  await backend?.stop();
});

const explain = (asked: object): Promise<Explanation> =>
  gateway.admin.call('POST', '/explain', { api_key_id: key.id, method: 'GET', ...asked });
const command = (...args: string[]) =>
  runTrailgate(['explain', key.id, ...args], {
    env: { TRAILGATE_ADMIN_URL: gateway.adminUrl, TRAILGATE_ADMIN_TOKEN: gateway.adminToken },
  });

describe('explain with several APIs', () => {
  it.each([
    ['/api/v1/customers', FIRST, 'listCustomers'],
    ['/api/v1/customers', SECOND, 'second.listCustomers'],
    ['/api/v1/customers', 'B.Example.com.:8443', 'second.listCustomers'],
    ['/api/v1/customers/cus_1', FIRST, 'getCustomer'],
    ['/api/v1/customers/cus_1', SECOND, 'route_not_found'],
    ['/api/v1/customers', NESTED, 'route_not_found'],
    ['/api/v1/customers', 'any.example.com', 'route_not_found'],
    ['/api/v1/customers', 'unknown.example.com', 'misdirected_request'],
    ['/api/v1/usage', SECOND, null],
    ['/api/v1/usage', NESTED, 'route_not_found'],
    ['/open/v1/customers', NESTED, 'nested.listCustomers'],
    ['/open/customers', NESTED, 'all.listCustomers'],
    ['/open/v1/customers', 'any.example.com', 'route_not_found'],
    ['/single/customers', FIRST, 'single.listCustomers'],
    ['/single/customers', SECOND, 'route_not_found'],
  ])('predicts the response to %s under %s: %s', async (path, host, expected) => {
    const { operation, answer } = await explain({ path, host });
    expect(operation?.id ?? answer.code).toBe(expected);
    const real = await send(`${gateway.gatewayUrl}${path}`, {
      headers: { host, authorization: `Bearer ${key.secret}` },
    });
    expect(real.status).toBe(answer.status ?? 200);
    expect(real.status === 200 ? null : real.json<{ code: string }>().code).toBe(answer.code);
  });

  it('accepts loopback names from this machine only', async () => {
    const asked = { path: '/api/v1/customers', host: 'localhost:8080' };
    expect((await explain(asked)).operation?.id).toBe('listCustomers');
    expect((await explain({ ...asked, client_address: '127.0.0.1' })).operation?.id).toBe('listCustomers');
    expect((await explain({ ...asked, client_address: '192.0.2.1' })).answer.code).toBe('misdirected_request');
  });

  it.each([
    ['/api/v1/customers', `${FIRST}, ${SECOND}`],
    ['/api/v1/nothing?a=/open', `${FIRST}, ${SECOND}`],
    ['/open/v1/customers', `${NESTED}, any other`],
    ['/many/customers', `${MANY.slice(0, 20).join(', ')}, 5 more, any other`],
  ])('demands the host if it decides which API has the path %s', async (path, hosts) => {
    const answer = await gateway.admin.request('POST', '/explain', {
      api_key_id: key.id,
      method: 'GET',
      path,
    });
    expect(answer.status).toBe(422);
    expect(answer.json()).toMatchObject({
      code: 'validation_failed',
      errors: [
        { pointer: '#/host', detail: `is required, because several APIs have this path. Their hosts: ${hosts}` },
      ],
    });
  });

  it('needs no host if one API has the path, and none for an operation', async () => {
    expect((await explain({ path: '/open/customers' })).operation).toMatchObject({
      id: 'all.listCustomers',
      hosts: [],
    });
    const single = { id: 'single.listCustomers', hosts: [FIRST] };
    expect((await explain({ path: '/single/customers' })).operation).toMatchObject(single);
    expect((await explain({ path: '/docs' })).answer.status).toBeNull();
    expect((await explain({ path: '/elsewhere' })).answer.code).toBe('route_not_found');
    const asked = { method: undefined, operation: 'second.listCustomers' };
    expect((await explain(asked)).operation).toMatchObject({ id: 'second.listCustomers', hosts: [SECOND] });
  });

  it.each(['https://b.example.com', 'b.example.com/', 'user@b.example.com', 'b.example.com:99999', '[::g]', ''])(
    'refuses the host %j',
    async (host) => {
      const body = { api_key_id: key.id, method: 'GET', path: '/api/v1/customers', host };
      expect((await gateway.admin.request('POST', '/explain', body)).status).toBe(422);
    },
  );

  it('refuses a host beside an operation', async () => {
    const body = { api_key_id: key.id, operation: 'listCustomers', host: FIRST };
    expect((await gateway.admin.request('POST', '/explain', body)).status).toBe(422);
  });

  it('lists the hosts of operations', async () => {
    const { data } = await gateway.admin.call<{ data: { operation: string; hosts: string[] }[] }>('GET', '/operations');
    const hostsOf = (id: string) => data.find(({ operation }) => operation === id)?.hosts;
    expect([hostsOf('listCustomers'), hostsOf('second.listCustomers'), hostsOf('all.listCustomers')]).toEqual([
      [FIRST],
      [SECOND],
      [],
    ]);
  });
});

describe('trailgate explain', () => {
  it.each([
    [[`https://${SECOND}/api/v1/customers?limit=1#top`], 'second.listCustomers'],
    [[`HTTP://${FIRST}:8080/api/v1/customers`], 'listCustomers'],
    [['/api/v1/customers', '--host', SECOND], 'second.listCustomers'],
    [[`https://${FIRST}/api/v1/customers`, '--host', SECOND], 'second.listCustomers'],
  ])('takes the host of a URL, or that of --host: %j', async (args, id) => {
    const { code, stdout } = await command('get', ...args);
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^operation +${id} \\(GET /api/v1/customers\\)$`, 'm'));
    expect(stdout).toMatch(/^hosts +[ab]\.example\.com$/m);
  });

  it.each([`https://${SECOND}`, `https://${SECOND}?a=1`])('explains the path / of the URL %s', async (url) => {
    expect((await command('GET', url)).stdout).toMatch(/^answer +404 route_not_found$/m);
  });

  it('fails without a host if the path needs one, and lists the hosts', async () => {
    const { code, stderr } = await command('GET', '/api/v1/customers');
    expect(code).toBe(1);
    expect(stderr).toContain(
      `host: is required, because several APIs have this path. Their hosts: ${FIRST}, ${SECOND}.`,
    );
  });
});
