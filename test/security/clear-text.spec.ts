/** Attack: an eavesdropper gets keys that are sent over HTTP. A forged Host gets into the links of a backend. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createSecret } from '../../src/keys/api-key-format.js';
import { eventually } from '../support/processes.js';
import { json } from '../support/backend.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { expectProblem } from '../support/problem.js';
import { send, type Answer } from '../support/http.js';

const ORIGIN = 'https://app.example.com';
const CONFIG = {
  gateway: { trustedProxies: ['127.0.0.1'], cors: { origins: [ORIGIN] }, hosts: ['api.internal'] },
  api: { publicUrl: 'https://api.example.com' },
};

let gateway: Proxied;
beforeAll(async () => void (gateway = await startProxied({ config: CONFIG })));
afterAll(() => gateway.stop());
beforeEach(() => gateway.answerWith(json({ ok: true })));

function ask(fields: Readonly<Record<string, string>>, method = 'GET'): Promise<Answer> {
  const url = `http://127.0.0.1:${gateway.port}/api/v1/open`;
  return send(url, { method, headers: { Host: 'api.example.com', ...fields } });
}

describe('a request through a trusted proxy', () => {
  it('over HTTP is refused alike with a valid key, a wrong one and none, and reaches no backend', async () => {
    const clear = { 'X-Forwarded-Proto': 'http' };
    const keys = [gateway.authorization, `Bearer ${createSecret('live')}`, 'Bearer junk', undefined];
    const answers = await Promise.all(
      keys.map((Authorization) => ask({ ...clear, ...(Authorization === undefined ? {} : { Authorization }) })),
    );
    for (const answer of answers) expectProblem(answer, 'tls_required', 403);
    const seen = answers.map(({ headers, body }) => {
      const { date: _date, 'x-request-id': id, ...rest } = headers;
      return JSON.stringify([rest, String(body).replaceAll(String(id), '')]);
    });
    expect(new Set(seen).size).toBe(1);
    expect(gateway.backend.requests).toHaveLength(0);
  });

  it('over HTTPS is served with HSTS for a year', async () => {
    const answer = await ask({ 'X-Forwarded-Proto': 'https', Authorization: gateway.authorization });
    expect(answer.status).toBe(200);
    expect(answer.headers['strict-transport-security']).toBe('max-age=31536000');
  });

  it('without X-Forwarded-Proto is served without HSTS', async () => {
    const answer = await ask({ Authorization: gateway.authorization });
    expect(answer.status).toBe(200);
    expect(answer.headers).not.toHaveProperty('strict-transport-security');
  });

  it('that is a CORS preflight over HTTP is answered, because it has no key', async () => {
    const preflight = { Origin: ORIGIN, 'Access-Control-Request-Method': 'GET', 'X-Forwarded-Proto': 'http' };
    expect((await ask(preflight, 'OPTIONS')).status).toBe(204);
  });
});

describe('a key sent in clear text, with revokeExposedKeys', () => {
  it('is refused and revoked, with the reason in an event and in the audit log', async () => {
    const revoking = await startProxied({
      config: { ...CONFIG, gateway: { ...CONFIG.gateway, revokeExposedKeys: true } },
    });
    revoking.answerWith(json({ ok: true }));
    const { admin } = revoking.trailgate;
    const { account, key } = await admin.newKey('unlimited');
    const other = (await admin.newKey('unlimited')).key;
    const from = (secret: string, scheme: string): Promise<Answer> =>
      send(`http://127.0.0.1:${revoking.port}/api/v1/open`, {
        headers: { Host: 'api.example.com', Authorization: `Bearer ${secret}`, 'X-Forwarded-Proto': scheme },
      });
    expect((await from(key.secret, 'https')).status).toBe(200);
    expectProblem(await from(createSecret('live'), 'http'), 'tls_required', 403);
    expectProblem(await from(key.secret, 'http'), 'tls_required', 403);
    await eventually('the key is revoked', async () => (await from(key.secret, 'https')).status === 401);
    expectProblem(await from(key.secret, 'https'), 'revoked_api_key', 401);
    expect((await from(other.secret, 'https')).status).toBe(200);
    const events = JSON.stringify(await admin.call('GET', `/accounts/${account.id}/events`));
    expect(events).toContain('api_key.revoked');
    expect(events).toContain('"reason":"exposed"');
    const audit = JSON.stringify(await admin.auditLog(`?account_id=${account.id}`));
    expect(audit).toContain('"reason":"exposed"');
    await revoking.stop();
  });
});

describe('a host', () => {
  it.each(['evil.example', 'api.example.com.evil.example', 'evil.example:443', '6.6.6.6'])(
    'that is not configured is refused: %s',
    async (host) => {
      expectProblem(await ask({ Host: host, Authorization: gateway.authorization }), 'misdirected_request', 421);
      expect(gateway.backend.requests).toHaveLength(0);
    },
  );

  it.each(['api.example.com', 'API.example.com:8443', 'api.example.com.', 'api.internal', 'localhost:8080'])(
    'that is configured or local is served: %s',
    async (host) => {
      expect((await ask({ Host: host, Authorization: gateway.authorization })).status).toBe(200);
      expect(gateway.backend.requests[0]?.headers).toMatchObject({ 'x-forwarded-host': host });
    },
  );
});
