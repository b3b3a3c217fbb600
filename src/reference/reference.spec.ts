/** The reference as a browser and a tool see it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MINIMAL, OPENAPI, configOf } from '../../test/support/config-files.js';
import { startReference } from '../../test/support/reference-server.js';
import { ERRORS, type ErrorCode } from '../platform/problems/errors.js';
import { errorCatalogueText } from './error-catalogue.js';

let origin: string;
let stop: () => Promise<void>;
let now = Date.parse('2026-11-01T00:00:00Z');

beforeAll(async () => {
  const text = `${MINIMAL}api: { title: "Rafting <API>", deprecation: 2027-01-01, sunset: 2028-01-01 }\n`;
  const config = await configOf({ 'gateway.yaml': text, 'customers.yaml': OPENAPI });
  ({ origin, stop } = await startReference(config, { publicUrl: () => origin, clock: { now: () => now } }));
});
afterAll(() => stop());

describe('openapi.json', () => {
  it('is served under the base path with a strong ETag, cacheable for five minutes', async () => {
    const response = await fetch(`${origin}/api/v1/openapi.json`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('public, max-age=300');
    expect(response.headers.get('etag')).toMatch(/^"[\w-]{27}"$/);
    await expect(response.json()).resolves.toMatchObject({ openapi: '3.1.1', servers: [{ url: `${origin}/api/v1` }] });
  });

  it.each([['the tag'], ['a weak tag'], ['a list'], ['any']])(
    'answers 304 without a body to If-None-Match with %s',
    async (kind) => {
      const { headers } = await fetch(`${origin}/api/v1/openapi.json`);
      const etag = headers.get('etag') ?? '';
      const condition = { 'the tag': etag, 'a weak tag': `W/${etag}`, 'a list': `"x", ${etag}`, any: '*' }[kind] ?? '';
      const response = await fetch(`${origin}/api/v1/openapi.json`, { headers: { 'if-none-match': condition } });
      expect([response.status, await response.text(), response.headers.get('etag')]).toEqual([304, '', etag]);
    },
  );

  it('answers HEAD like GET, without the body', async () => {
    const response = await fetch(`${origin}/api/v1/openapi.json`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(1000);
  });

  it('changes together with its ETag on the day of the deprecation', async () => {
    const before = await fetch(`${origin}/api/v1/openapi.json`);
    now = Date.parse('2027-01-01T00:00:00Z');
    const after = await fetch(`${origin}/api/v1/openapi.json`);
    expect(after.headers.get('etag')).not.toBe(before.headers.get('etag'));
    expect(await before.text()).not.toContain('"deprecated":true');
    expect(await after.text()).toContain('"deprecated":true');
  });
});

describe('the page', () => {
  it('refers to no other origin, and its CSP forbids them', async () => {
    const response = await fetch(`${origin}/docs`);
    const html = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(html).toContain('<title>Rafting &lt;API&gt;</title>');
    expect(html).not.toMatch(/(?:https?:)?\/\/[a-z0-9]/i);
    const policy = response.headers.get('content-security-policy') ?? '';
    const sources = policy.split('; ').flatMap((directive) => directive.split(' ').slice(1));
    expect(sources.filter((source) => !/^'(?:none|self|unsafe-inline)'$|^(?:data|blob):$/.test(source))).toEqual([
      origin,
    ]);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
  });

  it('loads its script from this origin: compressed, immutable, named by its content hash', async () => {
    const html = await (await fetch(`${origin}/docs`)).text();
    const [src = ''] = /\/docs\/assets\/scalar\.[0-9a-f]{16}\.js/.exec(html) ?? [];
    const response = await fetch(origin + src);
    expect(response.headers.get('content-encoding')).toBe('gzip');
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const script = await response.text();
    expect(script).toContain('createApiReference');
    const plain = await fetch(origin + src, { headers: { 'accept-encoding': 'gzip;q=0, identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(script);
    expect((await fetch(`${origin}/docs/assets/scalar.0.js`)).status).toBe(404);
  });

  it('disables external fonts, telemetry, agent and MCP', async () => {
    const html = await (await fetch(`${origin}/docs`)).text();
    const [, json = ''] = /data-configuration="([^"]*)"/.exec(html) ?? [];
    expect(JSON.parse(json.replaceAll('&quot;', '"'))).toMatchObject({
      withDefaultFonts: false,
      telemetry: false,
      agent: { disabled: true },
      mcp: { disabled: true },
    });
  });
});

describe('the pages of the error codes', () => {
  it.each(Object.keys(ERRORS) as ErrorCode[])('explain %s', async (code) => {
    const response = await fetch(`${origin}/docs/errors/${code}`);
    const html = await response.text();
    expect(response.status).toBe(200);
    expect(html).toContain(`<code>${code}</code>`);
    expect(html).toContain(`<h1>${ERRORS[code].title}</h1>`);
    expect(html).toContain(`<dd>${ERRORS[code].status}</dd>`);
  });

  it('are listed, each with its link', async () => {
    const html = await (await fetch(`${origin}/docs/errors`)).text();
    const links = Array.from(html.matchAll(/href="\/docs\/errors\/(\w+)"/g), (match) => match[1]);
    expect(links.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
  });

  it.each(['nonsense', '__proto__', 'toString', '%3Cscript%3E'])('do not exist for other names: %s', async (name) => {
    const response = await fetch(`${origin}/docs/errors/${name}`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain('<');
  });
});

describe('an unknown error code', () => {
  const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
  const fetchPage = (name: string, accept: string): Promise<Response> =>
    fetch(`${origin}/docs/errors/${name}`, { headers: { accept } });

  it.each(['nope', '__proto__', 'quota_exceede', '%3Cscript%3Ealert(1)%3C%2Fscript%3E'])(
    'gets a 404 page in a browser that lists all codes: %s',
    async (name) => {
      const response = await fetchPage(name, BROWSER);
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect(response.headers.get('vary')).toBe('accept');
      const html = await response.text();
      expect(html).toContain('<h1>No such error code</h1>');
      expect(html).not.toContain('<script');
      const links = Array.from(html.matchAll(/href="\/docs\/errors\/(\w+)"/g), (match) => match[1]);
      expect(links.toSorted()).toEqual(Object.keys(ERRORS).toSorted());
    },
  );

  it.each(['*/*', 'application/json', 'application/problem+json', 'application/json, text/html;q=0.5'])(
    'gets a 404 problem for a program that accepts %s',
    async (accept) => {
      const response = await fetchPage('nope', accept);
      expect(response.status).toBe(404);
      await expect(response.json()).resolves.toMatchObject({ code: 'route_not_found', status: 404 });
    },
  );
});

describe('the guide and the page on webhooks', () => {
  it.each([
    ['guide', ['Authentication', 'Errors', 'Repeating requests', 'Limits', 'Pagination']],
    ['webhooks', ['JavaScript', 'Python', 'PHP', 'Go']],
  ])('%s has its sections, code blocks and a title, and no raw Markdown', async (name, parts) => {
    const html = await (await fetch(`${origin}/docs/${name}`)).text();
    for (const part of parts) expect(html).toMatch(new RegExp(`<h[23][^>]*>${part}</h`));
    expect(html).toContain('<pre><code class="language-');
    expect(html).toMatch(/<title>\w+ · [^<]+<\/title>/);
    expect(html).not.toMatch(/^##|```|\]\(http/m);
  });
});

describe('the versioning page', () => {
  it('states the policy and the dates of this version', async () => {
    const html = await (await fetch(`${origin}/docs/versioning`)).text();
    expect(html).toContain('at least 12 months');
    expect(html).toContain('<strong>This version is deprecated from 2027-01-01.</strong>');
    expect(html).toContain('<strong>This version ends on 2028-01-01.</strong>');
  });
});

it('the error catalog contains every code with exactly the public members', () => {
  const { errors } = JSON.parse(errorCatalogueText()) as { readonly errors: readonly Record<string, unknown>[] };
  expect(errors.map(({ code }) => code)).toEqual(Object.keys(ERRORS));
  const members = ['code', 'status', 'title', 'fault', 'meaning', 'action'];
  expect(errors.filter((each) => Object.keys(each).join() !== members.join())).toEqual([]);
});

describe('docs/errors.md', () => {
  it('contains the error catalog as its table (TRAILGATE_TEST_WRITE=1 writes it)', () => {
    const page = readFileSync('docs/errors.md', 'utf8');
    const rows = Object.entries(ERRORS).map(
      ([code, { status, title, fault, meaning, action }]) =>
        `| \`${code}\` | ${status} | ${title} | ${fault} | ${meaning} | ${action} |\n`,
    );
    const written = page.replace(/(?:^\| `.*\n)+/m, () => rows.join(''));
    if (process.env['TRAILGATE_TEST_WRITE'] === '1') writeFileSync('docs/errors.md', written);
    expect(rows.length).toBeGreaterThan(70);
    const stored = readFileSync('docs/errors.md', 'utf8').split('\n');
    expect(stored.filter((line) => line.startsWith('| `')).map((line) => `${line}\n`)).toEqual(rows);
  });
});
