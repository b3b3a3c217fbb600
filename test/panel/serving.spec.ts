/** The admin listener serves the panel beside the API, with a CSP that allows no foreign content. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { readPanelFiles, type PanelFiles } from '../../src/admin/panel/panel-files.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import { startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { send, type Answer } from '../support/http.js';

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('the panel on the admin listener', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let panel: PanelFiles;
  let script: string;

  beforeAll(async () => {
    const found = readPanelFiles('dist/panel');
    if (found === null) throw new Error('dist/panel was not built');
    panel = found;
    script = [...panel.files.keys()].find((path) => /^\/assets\/index-.*\.js$/.test(path)) ?? '';
    database = await testDatabase('sqlite');
    running = await startAdmin(database, { panel });
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });
  const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
    send(running.url + path, { method, path, headers });

  it('serves its page at / and at every path that a browser navigates to', async () => {
    for (const path of ['/', '/api-keys', '/api-keys/new?name=Widget', '/sign-in']) {
      const page = await get(path, HTML);
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.text).toContain('<div id="root">');
    }
    expect((await get('/')).status).toBe(200);
  });

  it('gives each page its own nonce in CSP and HTML, and forbids caching', async () => {
    const pages = await Promise.all([get('/', HTML), get('/', HTML)]);
    const nonces = pages.map(({ text }) => /<meta name="csp-nonce" content="([^"]+)"/.exec(text)?.[1] ?? '');
    expect(new Set(nonces).size).toBe(2);
    for (const [index, { headers }] of pages.entries()) {
      expect(headers['content-security-policy']).toContain(`style-src 'self' 'nonce-${nonces[index]}'`);
      expect(nonces[index]).toMatch(/^[A-Za-z0-9+/]{22}==$/);
      expect(headers['cache-control']).toBe('no-store');
    }
  });

  it('forbids other origins, inline scripts and frames', async () => {
    const { headers, text } = await get('/', HTML);
    const policy = String(headers['content-security-policy']);
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
      expect(policy.split('; ')).toContain(part);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(text).not.toMatch(/<script(?![^>]* src="\/)/);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  });

  it('serves files as compressed by the build, and hashed files as immutable', async () => {
    const [plain, br, gzip] = await Promise.all([
      get(script),
      get(script, { 'accept-encoding': 'gzip, deflate, br, zstd' }),
      get(script, { 'accept-encoding': 'gzip, br;q=0' }),
    ]);
    expect([plain, br, gzip].map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'br', 'gzip']);
    expect(brotliDecompressSync(br.body)).toEqual(plain.body);
    expect(gunzipSync(gzip.body)).toEqual(plain.body);
    expect(br.body.length).toBeLessThan(plain.body.length / 3);
    expect(plain.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      vary: 'Accept-Encoding',
    });
    const [small, known] = [await get('/color-scheme.js'), String((await get('/color-scheme.js')).headers['etag'])];
    expect(small.headers['cache-control']).toBe('no-cache');
    expect((await get('/color-scheme.js', { 'if-none-match': known })).status).toBe(304);
  });

  it('answers HEAD without a body', async () => {
    for (const path of ['/', script]) {
      const head = await get(path, HTML, 'HEAD');
      expect([head.status, head.body.length]).toEqual([200, 0]);
      expect(Number(head.headers['content-length'])).toBeGreaterThan(100);
    }
  });

  it.each([
    ['/assets/index-gone.js', HTML],
    ['/.vite/manifest.json', HTML],
    ['/sources.sha256', HTML],
    ['/index.html', HTML],
    ['/../package.json', HTML],
    ['/admin/v1/nothing', HTML],
    ['/admin', HTML],
    ['/api-keys', { accept: 'application/json' }],
  ])('returns a 404 problem for %s', async (path, headers) => {
    const missing = await get(path, headers);
    expect([missing.status, missing.json()['code']]).toEqual([404, 'route_not_found']);
    expect(missing.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  });

  it('accepts only GET and HEAD', async () => {
    expect((await get('/', HTML, 'POST')).status).toBe(404);
    expect((await get(script, {}, 'DELETE')).status).toBe(404);
  });

  it('does not affect the API and the health endpoint', async () => {
    expect((await get('/livez', HTML)).json()).toEqual({ status: 'alive' });
    expect((await get('/admin/v1/accounts', HTML)).status).toBe(401);
    expect((await get('/admin/v1/explain', HTML)).status).toBe(405);
  });
});

it('the panel is not served if it was not built', async () => {
  const database = await testDatabase('sqlite');
  const running = await startAdmin(database);
  expect((await send(running.url, { path: '/', headers: HTML })).status).toBe(404);
  await running.close();
  await database.close();
  expect(readPanelFiles('dist/nothing')).toBeNull();
});
