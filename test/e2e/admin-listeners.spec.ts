/** The listeners of the running program: admin, health and public, and the admin listener with TLS. */
import { readFileSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect as connectPlain } from 'node:net';
import { connect } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { makeCertificate } from '../support/certificates.js';
import { describeWithOpenssl } from '../support/describe-with.js';
import { send, sendRaw } from '../support/http.js';
import { newOperator } from '../support/panel-people.js';
import { expectProblem } from '../support/problem.js';
import { eventually, temporaryFolder } from '../support/processes.js';
import { runTrailgate, startTrailgate, type RunningTrailgate } from '../support/program.js';
import { PanelBrowser } from '../support/signed-in.js';

const PLANS = '/admin/v1/plans';
const TARGETS = '/admin/v1/targets';
const HEALTH = ['/livez', '/readyz', '/metrics'];

describe('the program', () => {
  let trailgate: RunningTrailgate | undefined;
  afterEach(async () => {
    await trailgate?.stop();
    trailgate = undefined;
  });

  const healthUrlOf = ({ logs }: RunningTrailgate): string =>
    String(logs().find(({ event, role }) => event === 'listening' && role === 'health')?.['url']);

  it('serves health and metrics, and nothing else, on a separate listener if configured', async () => {
    trailgate = await startTrailgate({ config: { admin: { health: { port: 0 } } } });
    const health = healthUrlOf(trailgate);
    for (const path of HEALTH) {
      expect([path, (await send(health + path)).status]).toEqual([path, 200]);
      expectProblem(await send(trailgate.adminUrl + path), 'route_not_found', 404);
    }
    const authorization = `Bearer ${trailgate.adminToken}`;
    expectProblem(await send(health + PLANS, { headers: { authorization } }), 'route_not_found', 404);
    expect((await send(trailgate.adminUrl + PLANS, { headers: { authorization } })).status).toBe(200);
    // The log names both the listener and the panel. The panel URL has a host name, because passkeys do not work on
    // 127.0.0.1.
    const said = trailgate.logs().find(({ event, role }) => event === 'listening' && role === 'admin');
    expect(said).toMatchObject({
      url: trailgate.adminUrl,
      panel: `http://localhost:${new URL(trailgate.adminUrl).port}`,
    });
  });

  it('shuts down cleanly while a client holds a connection with an incomplete request', async () => {
    trailgate = await startTrailgate();
    const socket = connectPlain(Number(new URL(trailgate.adminUrl).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTT');
    await once(socket, 'connect');
    expect((await trailgate.stop()).code).toBe(0);
    const failed = trailgate.logs().filter(({ event, level }) => event === 'shutdown_phase' && level === 'error');
    expect(failed).toEqual([]);
  });

  it('opens a health listener but no admin listener without the admin role', async () => {
    trailgate = await startTrailgate({ roles: ['gateway'], config: { admin: { health: { port: 0 } } } });
    expect((await send(`${healthUrlOf(trailgate)}/readyz`)).status).toBe(200);
    const roles = trailgate.logs().flatMap(({ event, role }) => (event === 'listening' ? [role] : []));
    expect(roles).toEqual(['health', 'gateway']);
  });

  it('answers 404 to admin and health paths on the public listener', async () => {
    trailgate = await startTrailgate();
    const headers = { authorization: `Bearer ${trailgate.adminToken}` };
    for (const path of [...HEALTH, '/', '/admin/v1/openapi.json', PLANS, '/admin/v1/me', '/sign-in']) {
      for (const host of ['localhost', 'admin.example.com']) {
        const { status } = await send(trailgate.gatewayUrl + path, { headers: { ...headers, host } });
        expect([path, status]).toEqual([path, 404]);
      }
    }
  });

  it('applies changed operatorNetworks on reload, and logs that a changed URL needs a restart', async () => {
    trailgate = await startTrailgate({ config: { admin: { trustedProxies: ['127.0.0.1'] } } });
    const { adminUrl, adminToken, configPath, logs } = trailgate;
    const headers = { authorization: `Bearer ${adminToken}`, 'x-forwarded-for': '198.51.100.1' };
    expect((await send(adminUrl + TARGETS, { headers })).status).toBe(200);
    const text = readFileSync(configPath, 'utf8');
    const changed = '  operatorNetworks: [203.0.113.0/24]\n  url: http://localhost:9\n';
    writeFileSync(configPath, text.replace(/^admin:\n/m, `admin:\n${changed}`));
    trailgate.signal('SIGHUP');
    await eventually(
      'the changed networks apply',
      async () => (await send(adminUrl + TARGETS, { headers })).status === 404,
    );
    const waiting = () => logs().find(({ event }) => event === 'config_needs_restart');
    await eventually('the log names the settings that need a restart', () => waiting() !== undefined);
    expect(waiting()?.['settings']).toEqual(['admin.url']);
  });

  it.each([
    ['no admin.url', '', 'admin.url is missing'],
    [
      'an https admin.url, but no TLS',
      ', url: https://admin.example.com',
      'neither this listener nor a trusted proxy has TLS',
    ],
  ])('does not start with an admin listener on 0.0.0.0 and %s', async (_what, url, problem) => {
    const folder = temporaryFolder('exposed');
    const services = 'services: { a: { targets: ["http://127.0.0.1:9"] } }\nplans: { starter: {} }\n';
    writeFileSync(`${folder}/gateway.yaml`, `admin: { host: 0.0.0.0${url} }\n${services}`);
    const { code, stderr } = await runTrailgate(['start'], { cwd: folder });
    expect(code).toBe(1);
    expect(stderr).toContain(problem);
  });
});

describeWithOpenssl('the admin listener with a certificate', () => {
  let trailgate: RunningTrailgate;
  let folder: string;

  beforeAll(async () => {
    folder = temporaryFolder('admin-tls');
    makeCertificate(folder, 'admin');
    const tls = { cert: `${folder}/admin.crt`, key: `${folder}/admin.key` };
    trailgate = await startTrailgate({ config: { admin: { tls, hsts: { maxAge: '30d' } } } });
  });
  afterAll(() => trailgate?.stop());

  const shown = (options = {}): Promise<{ fingerprint: string; alpn: string | false | null }> =>
    new Promise((resolve, reject) => {
      const port = Number(new URL(trailgate.adminUrl).port);
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
        resolve({ fingerprint: socket.getPeerCertificate().fingerprint256, alpn: socket.alpnProtocol });
        socket.destroy();
      });
      socket.once('error', reject);
    });

  it('serves HTTP/1.1 with HSTS, and refuses TLS 1.1', async () => {
    expect(trailgate.adminUrl).toMatch(/^https:/);
    const authorization = `Bearer ${trailgate.adminToken}`;
    const answer = await send(trailgate.adminUrl + PLANS, { headers: { authorization } });
    expect(answer.status).toBe(200);
    expect(answer.headers['strict-transport-security']).toBe('max-age=2592000');
    expect((await shown({ ALPNProtocols: ['h2', 'http/1.1'] })).alpn).toBe('http/1.1');
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
    await expect(shown(old)).rejects.toThrow(/protocol/i);
  });

  it('sets session cookies that browsers send only over HTTPS', async () => {
    const { email, password } = await newOperator(trailgate);
    const answer = await new PanelBrowser(trailgate.adminUrl).ask('POST', '/sign-in/password', { email, password });
    const cookies = answer.headers['set-cookie'] ?? [];
    expect(cookies.map((cookie) => cookie.split('=')[0])).toEqual(['__Host-tg_session', '__Host-tg_known']);
    for (const cookie of cookies) {
      expect(cookie.split('; ')).toEqual(expect.arrayContaining(['Path=/', 'Secure', 'HttpOnly', 'SameSite=Lax']));
    }
  });

  it('does not serve plain HTTP, and keeps serving HTTPS afterward', async () => {
    const plain = await sendRaw(
      Number(new URL(trailgate.adminUrl).port),
      'GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n',
    );
    expect(plain).not.toContain('alive');
    expect((await send(`${trailgate.adminUrl}/livez`)).status).toBe(200);
  });

  it('loads a changed certificate, refuses an invalid one, and reports both', async () => {
    const { cert, fingerprint } = makeCertificate(folder, 'admin');
    await eventually(
      'new connections get the new certificate',
      async () => (await shown()).fingerprint === fingerprint(),
    );
    writeFileSync(cert, 'no certificate');
    const has = (event: string) =>
      trailgate.logs().some((line) => line['event'] === event && line['listener'] === 'admin');
    await eventually('certificate_refused is logged', () => has('certificate_refused'));
    expect(has('certificate_changed')).toBe(true);
    await expect(shown()).resolves.toBeDefined();
    const { text } = await send(`${trailgate.adminUrl}/metrics`);
    expect(text).toMatch(/trailgate_certificate_reloads_total\{listener="admin",result="refused"\} [1-9]/);
    expect(text).toMatch(/trailgate_certificate_expiry_timestamp_seconds\{listener="admin"\} \d{10}/);
  });
});
