/**
 * Attack: a path that the gateway reads as an allowed operation, and the backend reads as another. The test normalizes
 * paths in every known way. Each result must be a path that the key may use.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { send } from '../support/http.js';
import { startProxied, type Proxied } from '../support/proxied.js';

/** Allows reading customers only. `/customers/export` and `/admin/…` need other scopes. */
const GRANTED = 'customers:read';

let gateway: Proxied;
let key: ApiKeyWithSecret;

beforeAll(async () => {
  gateway = await startProxied({
    config: {
      operations: [
        { match: 'GET /customers/export', service: 'backend', scopes: ['exports:read'] },
        { match: 'GET /admin/{name}', service: 'backend', scopes: ['admin:read'] },
        { match: 'GET /customers/{id}/notes', service: 'backend', scopes: ['notes:read'] },
      ],
    },
  });
  ({ key } = await gateway.trailgate.admin.newKey('unlimited', { scopes: [GRANTED] }));
});
afterAll(() => gateway.stop());

/** Returns the paths that servers may derive from this one: by each step alone, and by all steps together. */
function readings(path: string): string[] {
  const decode = (text: string): string => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };
  const steps: ((text: string) => string)[] = [
    decode,
    (text) => decode(decode(text)),
    (text) => text.replaceAll('\\', '/'),
    (text) => text.replaceAll(/;[^/]*/g, ''),
    (text) => text.replace(/[?#].*$/s, ''),
    (text) => text.replace(/\0.*$/s, ''),
    (text) => text.replaceAll(/\/+/g, '/'),
    (text) => new URL(`http://x${text.startsWith('/') ? '' : '/'}${text}`).pathname,
    (text) => text.toLowerCase(),
    (text) => text.replace(/\.\w+$/, ''),
    (text) => text.trim().replace(/\/$/, ''),
  ];
  return [...steps.map((step) => step(path)), steps.reduce((text, step) => step(text), path)];
}

/** Reports whether the granted scope allows a path, as a backend would route it. */
function isGranted(path: string): boolean {
  return /^\/customers(?:\/[^/]*)?\/?$/.test(path) && !/^\/customers\/export\/?$/.test(path);
}

const ATTEMPTS = String.raw`
  /customers/export /customers/%65xport /customers/export/ /customers//export /customers/./export
  /customers/x/../export /customers/x/%2e%2e/export /customers/x%2f..%2fexport /customers/..%2fadmin%2fkeys
  /customers/%2e%2e/admin/keys /customers/.. /customers/../admin/keys /customers/..\admin\keys
  /customers/..%5cadmin%5ckeys /customers/..%255cadmin /customers/%252e%252e/admin/keys
  /customers/..;/admin/keys /customers/.;/export /customers/export;x /customers/export;.json
  /customers/export%3bx /customers;x/export /customers/EXPORT /customers/Export /CUSTOMERS/export
  /customers/export.json /customers/export. /customers/export%2ejson /customers/export%00
  /customers/export%00.jpg /customers/export%20 /customers/%20export /customers/export%09 /customers/export%0a
  /customers/export%3f /customers/export%3fx=1 /customers/export%23 /customers/export#x /customers/%2565xport
  /customers/%252565xport /customers/e%78port /customers/%u0065xport /customers/%c0%ae%c0%ae/admin
  /customers/cus_1%2fnotes /customers/cus_1%252fnotes /customers/cus_1/notes /customers/cus_1\notes
  /customers/cus_1%5cnotes /customers/cus_1;/notes /customers/cus_1//notes /customers/cus_1/./notes
  /customers/cus_1/NOTES /customers/cus_1/notes.json //admin/keys ///admin/keys /admin/keys /%61dmin/keys
  /admin%2fkeys /.//admin/keys /./admin/keys /customers/..%3f/admin /customers/%20..%20 /customers/..%23
  /customers/. /customers/%2e /..;/admin/keys /../v1/admin/keys /../../admin/keys /%2e%2e/%2e%2e/admin/keys
  /..%2f..%2fadmin
`
  .trim()
  .split(/\s+/);

describe('a key that may read customers', () => {
  it.each(ATTEMPTS)('reaches no other operation by the path %s', async (path) => {
    gateway.backend.requests.length = 0;
    const answer = await send(gateway.url + path, { headers: { Authorization: `Bearer ${key.secret}` } });
    expect([200, 400, 403, 404]).toContain(answer.status);
    expect(gateway.backend.requests).toHaveLength(answer.status === 200 ? 1 : 0);
    for (const { url } of gateway.backend.requests) {
      for (const reading of readings(url))
        expect({ url, reading, granted: isGranted(reading) }).toEqual({ url, reading, granted: true });
    }
  });

  it.each([
    '/customers',
    '/customers/cus_1',
    '/customers/exporter',
    '/customers/my.export',
    '/customers/J%C3%BCrgen',
    '/customers?x=../export',
  ])('reaches %s', async (path) => {
    gateway.backend.requests.length = 0;
    const answer = await send(gateway.url + path, { headers: { Authorization: `Bearer ${key.secret}` } });
    expect(answer.status).toBe(200);
    expect(gateway.backend.requests.map(({ url }) => url)).toEqual([path]);
  });

  it.each(['X-Original-URL', 'X-Rewrite-URL', 'X_Original_URL', 'X-Forwarded-Prefix', 'X-Forwarded-Path'])(
    'reaches no other operation by the header %s',
    async (name) => {
      gateway.backend.requests.length = 0;
      const answer = await send(`${gateway.url}/customers`, {
        headers: { Authorization: `Bearer ${key.secret}`, [name]: '/admin/keys' },
      });
      expect(answer.status).toBe(200);
      expect(JSON.stringify(gateway.backend.requests[0]?.rawHeaders)).not.toContain('/admin/keys');
    },
  );
});
