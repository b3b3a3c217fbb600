/** Several versions and APIs in one file. Each has its own paths, hosts, dates and OpenAPI document. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send, sendRaw, type Answer } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { testOpenapi, type Json } from '../support/program-config.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';

const OLD_HOST = 'old.example.com';
const PARTNER_HOST = 'partners.example.com';

let backends: Record<'v1' | 'v2' | 'partners', Backend>;
let trailgate: RunningTrailgate;
let secret: string;

beforeAll(async () => {
  const [v1, v2, partners] = await Promise.all([1, 2, 3].map((number) => startBackend(json({ number }))));
  backends = { v1: v1!, v2: v2!, partners: partners! };
  const service = (backend: Backend, api?: string): Json => ({
    targets: [backend.url],
    openapi: './backend.openapi.yaml',
    scopes: [],
    ...(api === undefined ? {} : { api }),
  });
  trailgate = await startTrailgate({
    openapi: testOpenapi,
    config: {
      api: null,
      apis: [
        { name: 'v1', basePath: '/api/v1', title: 'Old API', deprecation: '2026-01-01', sunset: '2099-01-01' },
        {
          name: 'v2',
          basePath: '/api/v2',
          title: 'New API',
          description: 'Bookings.',
          support: { email: 'help@example.com' },
        },
        {
          name: 'partners',
          basePath: '/v1',
          title: 'Partner API',
          hosts: [PARTNER_HOST],
          publicUrl: `https://${PARTNER_HOST}`,
          deprecation: '2026-01-01',
          successor: '/v2',
        },
      ],
      services: { backend: null, old: service(v1!), new: service(v2!, 'v2'), partners: service(partners!, 'partners') },
      operations: null,
      usage: { flushInterval: '100ms' },
    },
  });
  ({ secret } = (await trailgate.admin.newKey()).key);
}, 60_000);
afterAll(async () => {
  await trailgate?.stop();
  for (const backend of Object.values(backends ?? {})) await backend.stop();
});

const get = (path: string, host = OLD_HOST, more: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  send(`${trailgate.gatewayUrl}${path}`, { headers: { host, authorization: `Bearer ${secret}`, ...more } });

describe('several APIs', () => {
  it('have their own operations, and each backend gets the path without the base path', async () => {
    for (const [path, name] of [
      ['/api/v1/customers?a=1', 'v1'],
      ['/api/v2/customers?a=1', 'v2'],
    ] as const) {
      expect((await get(path)).status).toBe(200);
      const request = backends[name].requests.at(-1);
      expect(request?.url).toBe('/customers?a=1');
      expect(request?.headers['x-forwarded-prefix']).toBe(path.slice(0, path.lastIndexOf('/')));
    }
  });

  it('are served only under their hosts', async () => {
    expect((await get('/v1/customers', PARTNER_HOST)).json()).toEqual({ number: 3 });
    for (const path of ['/v1/customers', '/v1/usage', '/v1/openapi.json']) {
      expect((await get(path)).json<{ code: string }>().code).toBe('route_not_found');
    }
    expect((await get('/v1/usage', PARTNER_HOST)).status).toBe(200);
    expect((await get('/api/v1/usage')).status).toBe(200);
  });

  it('have their own deprecation dates', async () => {
    expect((await get('/api/v1/customers')).headers['deprecation']).toBe('@1767225600');
    expect((await get('/api/v2/customers')).headers['deprecation']).toBeUndefined();
    const { link } = (await get('/v1/customers', PARTNER_HOST)).headers;
    expect(String(link)).toContain(`<https://${PARTNER_HOST}/v2>; rel="successor-version"`);
  });

  it('have their own OpenAPI documents, with the operation IDs of the services', async () => {
    const document = async (path: string, host?: string) => (await get(`${path}/openapi.json`, host)).json<Described>();
    const [old, next, partner] = [
      await document('/api/v1'),
      await document('/api/v2'),
      await document('/v1', PARTNER_HOST),
    ];
    expect(old.paths['/customers']?.['get']).toMatchObject({ operationId: 'listCustomers', deprecated: true });
    expect(next.paths['/customers']?.['get']).toMatchObject({ operationId: 'listCustomers' });
    expect(next.paths['/customers']?.['get']).not.toHaveProperty('deprecated');
    expect([old, next, partner].map(({ info, servers }) => [info.title, servers[0]?.url])).toEqual([
      ['Old API', `${trailgate.gatewayUrl}/api/v1`],
      ['New API', `${trailgate.gatewayUrl}/api/v2`],
      ['Partner API', `https://${PARTNER_HOST}/v1`],
    ]);
    expect(next.info).toMatchObject({ contact: { email: 'help@example.com' } });
    expect(next.info.description).toMatch(/^Bookings\./);
  });

  it('share one reference page, which lists the APIs that are served under its host', async () => {
    const sourcesAt = async (path: string, host?: string): Promise<string[]> => {
      const { body } = await get(path, host);
      return [...body.toString().matchAll(/openapi\.json">([^<]*)</g)].map(([, text = '']) => text);
    };
    const [old, next, partner] = ['Old API', 'New API', 'Partner API'].map((title) => `OpenAPI document of ${title}`);
    expect(await sourcesAt('/docs')).toEqual([old, next]);
    expect(await sourcesAt('/docs/apis/v2')).toEqual([next, old]);
    expect(await sourcesAt('/docs', PARTNER_HOST)).toEqual([old, next, partner]);
    expect((await get('/docs/apis/partners')).status).toBe(404);
    const [versioning, guide] = [await get('/docs/versioning'), await get('/docs/guide', PARTNER_HOST)];
    expect(versioning.body.toString()).toContain('All of /api/v1');
    expect(versioning.body.toString()).not.toContain('<code>/v1</code>');
    expect(versioning.headers['content-security-policy']).not.toContain(PARTNER_HOST);
    expect(guide.headers['content-security-policy']).toContain(PARTNER_HOST);
  });

  it('share one usage report, with the API name before the operations of a second API', async () => {
    await get('/api/v2/customers');
    await get('/api/v1/customers');
    const counted = async (): Promise<string[]> => {
      const { data } = (await get('/api/v2/usage?group_by=operation')).json<{ data: { operation: string }[] }>();
      return data.map(({ operation }) => operation);
    };
    await eventually('the usage of both APIs is written', async () => {
      const operations = await counted();
      return operations.includes('listCustomers') && operations.includes('v2.listCustomers');
    });
  });

  it('are listed by `trailgate check`, each operation with its full path', async () => {
    const { code, stdout } = await runTrailgate(['check', '--config', trailgate.configPath]);
    expect(code).toBe(0);
    expect(stdout).toContain(`/api/v1 and http://`);
    for (const path of ['/api/v1/customers ', '/api/v2/customers ', '/v1/customers ']) expect(stdout).toContain(path);
  });
});

describe('several APIs', () => {
  it.each(['', `Host: ${OLD_HOST}\r\n`])('are hidden from HTTP/1.0 under other hosts (%j)', async (field) => {
    for (const path of ['/v1/customers', '/v1/usage', '/v1/openapi.json']) {
      const head = `GET ${path} HTTP/1.0\r\n${field}Authorization: Bearer ${secret}\r\n\r\n`;
      expect(await sendRaw(Number(new URL(trailgate.gatewayUrl).port), head)).toContain('"code":"route_not_found"');
    }
  });

  it('have routes of their own in metrics', async () => {
    await get('/api/v1/customers');
    await get('/api/v2/customers');
    const { text } = await send(`${trailgate.adminUrl}/metrics`);
    for (const route of ['/customers', '/api/v2/customers']) {
      expect(text).toContain(`_count{http_request_method="GET",http_route="${route}",http_response_status_code="200"}`);
    }
  });

  it('keep their paths when the file has others, and refuse that file until a restart', async () => {
    const before = readFileSync(trailgate.configPath, 'utf8');
    const countOf = (event: string) => trailgate.logs().filter((line) => line.event === event).length;
    const change = async (text: string, event: string): Promise<unknown> => {
      const times = countOf(event);
      writeFileSync(trailgate.configPath, text);
      await eventually(event, () => countOf(event) > times);
      return trailgate.logs().findLast((line) => line.event === event)?.['problems'];
    };
    const others = before.replace('basePath: /api/v2', 'basePath: /api/v3');
    expect(others).not.toBe(before);
    expect(await change(others, 'config_refused')).toContain('restart to apply this file');
    expect((await get('/api/v2/customers')).json()).toEqual({ number: 2 });
    expect((await get('/api/v3/customers')).status).toBe(404);
    await change(before.replace('title: New API', 'title: Newer API'), 'config_changed');
    expect((await get('/api/v2/openapi.json')).json<Described>().info.title).toBe('Newer API');
    await change(before, 'config_changed');
  });
});

interface Described {
  readonly info: { readonly title: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Json>>;
}
