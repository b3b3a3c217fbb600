/** `loadConfig` with a valid configuration. */
import { describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, configOf } from '../../test/support/config-files.js';
import { publicUrlOf } from './load.js';

describe('a valid configuration', () => {
  it('takes operations, scopes and cost from the OpenAPI document, and creates missing IDs', async () => {
    const { operations } = await configOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    expect(operations.map((operation) => ({ ...operation, openapi: undefined }))).toEqual([
      {
        index: 0,
        id: 'listCustomers',
        method: 'GET',
        template: '/customers',
        service: 'customers',
        scopes: ['customers:read'],
        cost: 1,
        isWebSocket: false,
      },
      {
        index: 1,
        id: 'post_customers',
        method: 'POST',
        template: '/customers',
        service: 'customers',
        scopes: ['customers:write'],
        cost: 5,
        isWebSocket: false,
        idempotency: { retentionMs: 86_400_000 },
      },
      {
        index: 2,
        id: 'get_customers_id',
        method: 'GET',
        template: '/customers/{id}',
        service: 'customers',
        scopes: ['customers:read'],
        cost: 1,
        isWebSocket: false,
      },
    ]);
  });

  it('gives each operation the parameters of its path item, with references resolved', async () => {
    const { operations } = await configOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    expect(operations[2]?.openapi?.['parameters']).toEqual([
      { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
    ]);
  });

  it('reads the OpenAPI document as JSON too, indented with tabs', async () => {
    const json = JSON.stringify(
      {
        openapi: '3.0.3',
        info: { title: 'T', version: '1' },
        security: [{ key: ['a:b'] }],
        paths: { '/a': { get: { responses: { 200: { description: 'ok' } } } } },
      },
      null,
      '\t',
    );
    const { operations } = await configOf({
      'gateway.yaml': MINIMAL.replace('customers.yaml', 'customers.json'),
      'customers.json': json,
    });
    expect(operations.map((operation) => operation.id)).toEqual(['get_a']);
  });

  it('lets `operations` override the document and add operations that it does not describe', async () => {
    const entries =
      'operations:\n  - { match: GET /customers, cost: 3, scopes: [] }\n' +
      '  - { match: GET /boats, service: customers, scopes: [boats:read], id: listBoats }\n';
    const { operations } = await configOf({ 'gateway.yaml': MINIMAL + entries, 'customers.yaml': OPENAPI });
    expect(operations[0]).toMatchObject({ id: 'listCustomers', cost: 3, scopes: [] });
    expect(operations[3]).toEqual({
      index: 3,
      isWebSocket: false,
      id: 'listBoats',
      method: 'GET',
      template: '/boats',
      service: 'customers',
      scopes: ['boats:read'],
      cost: 1,
    });
  });

  it('substitutes variables in values, as numbers where the setting is a number', async () => {
    const text = MINIMAL.replace('4001', '${BACKEND_PORT:-4001}')
      .replace('[http', '["http')
      .replace('}]', '}"]')
      .replace('minute: 60', 'minute: "${LIMIT}"');
    const { file } = await configOf(
      { 'gateway.yaml': `${text}api: { title: "$\${X} \${N}" }\n`, 'customers.yaml': OPENAPI },
      { LIMIT: '75', N: '7' },
    );
    expect(file.services['customers']?.targets).toEqual(['http://127.0.0.1:4001']);
    expect(file.plans['starter']?.key.minute).toBe(75);
    expect(file.api.title).toBe('${X} 7');
  });

  it('lets environment variables replace ports, including 0 for any free port', async () => {
    const files = { 'gateway.yaml': `gateway: { port: 9000 }\n${MINIMAL}`, 'customers.yaml': OPENAPI };
    const { file, publicUrl } = await configOf(files, { TRAILGATE_GATEWAY_PORT: '0', TRAILGATE_ADMIN_PORT: '0' });
    expect([file.gateway.port, file.admin.port]).toEqual([0, 0]);
    expect(publicUrl).toBe('http://localhost:0');
    expect(publicUrlOf(file, 43_210)).toBe('http://localhost:43210');
  });

  it.each([
    ['', 'http://localhost:8080'],
    ['gateway: { host: "::1", port: 80 }', 'http://[::1]'],
    ['api: { publicUrl: https://api.example.com/ }', 'https://api.example.com'],
  ])('derives its public URL from the listener or from api.publicUrl: %s', async (extra, url) => {
    const config = await configOf({ 'gateway.yaml': `${MINIMAL}${extra}\n`, 'customers.yaml': OPENAPI });
    expect(config.publicUrl).toBe(url);
  });

  it('has an https public URL if the listener has a certificate', async () => {
    const { file } = await configOf({ 'gateway.yaml': MINIMAL, 'customers.yaml': OPENAPI });
    const tls = { cert: 'tls.crt', key: 'tls.key' };
    expect(publicUrlOf({ ...file, gateway: { ...file.gateway, port: 443, tls } })).toBe('https://localhost');
  });
});
