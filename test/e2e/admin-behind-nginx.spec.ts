/** Runs the recipe of docs/recipes.md for an admin listener on the internet, behind a real nginx. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { makeCertificate } from '../support/certificates.js';
import { describeWithNginx } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { eventually, freePort, spawnOwned, temporaryFolder, type OwnedProcess } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

const TARGETS = '/admin/v1/targets';
const HEALTH = ['/livez', '/readyz', '/metrics'];

/** Returns the code block of the recipe in a language that starts with a comment `begin`. */
function recipe(language: string, begin: string): string {
  const [, section = ''] = readFileSync('docs/recipes.md', 'utf8').split('## The admin listener on the internet\n');
  const [, block = ''] = new RegExp(`\`\`\`${language}\n(# ${begin}[\\s\\S]*?)\`\`\``).exec(section) ?? [];
  return block;
}

describeWithNginx('the nginx recipe for the admin listener', () => {
  let trailgate: RunningTrailgate;
  let nginx: OwnedProcess;
  let ports: { readonly https: number; readonly http: number };

  beforeAll(async () => {
    const folder = temporaryFolder('nginx');
    makeCertificate(folder, 'admin');
    ports = { https: await freePort(), http: await freePort() };
    const { admin } = parse(recipe('yaml', 'part of gateway.yaml')) as { admin: Record<string, unknown> };
    trailgate = await startTrailgate({
      config: { admin: { ...admin, port: 0, health: { host: '127.0.0.1', port: 0 } } },
    });
    const server = recipe('nginx', 'part of nginx.conf')
      .replace('listen 443 ssl', `listen 127.0.0.1:${ports.https} ssl`)
      .replace('listen 80', `listen 127.0.0.1:${ports.http}`)
      .replaceAll('/etc/ssl/admin.example.com', `${folder}/admin`)
      .replace('http://127.0.0.1:8081', trailgate.adminUrl);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${name};`);
    const http = `access_log off; ${temporary.join(' ')}\n${server}`;
    const main = `daemon off; pid nginx.pid; error_log stderr; worker_processes 1;`;
    writeFileSync(`${folder}/nginx.conf`, `${main} events { worker_connections 64; }\nhttp { ${http} }\n`);
    nginx = spawnOwned('nginx', ['-p', `${folder}/`, '-e', 'stderr', '-c', `${folder}/nginx.conf`]);
    const redirect = () => send(`http://127.0.0.1:${ports.http}/`).catch(() => undefined);
    await eventually('nginx listens', async () => (await redirect())?.status === 308);
  });
  afterAll(async () => {
    await nginx?.end('SIGTERM');
    await trailgate?.stop();
  });

  /** Sends from a different address than nginx uses. */
  const agent = new Agent({ localAddress: '127.0.0.2' });
  const ask = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    send(`https://127.0.0.1:${ports.https}${path}`, { agent, headers: { host: 'admin.example.com', ...headers } });

  it('hides operator routes, sends HSTS, and redirects HTTP to HTTPS', async () => {
    expectProblem(await ask(TARGETS), 'route_not_found', 404);
    expect((await ask(TARGETS)).headers['strict-transport-security']).toBe('max-age=31536000');
    const plain = await send(`http://127.0.0.1:${ports.http}/x?y=1`, { headers: { host: 'admin.example.com' } });
    expect([plain.status, plain.headers.location]).toEqual([308, 'https://admin.example.com/x?y=1']);
  });

  it('ignores X-Forwarded-For addresses that a client sends', async () => {
    const authorization = `Bearer ${trailgate.adminToken}`;
    for (const claimed of ['203.0.113.7', '203.0.113.7, 203.0.113.7', '198.51.100.1, 127.0.0.1, 203.0.113.7']) {
      expectProblem(await ask(TARGETS, { authorization, 'x-forwarded-for': claimed }), 'route_not_found', 404);
    }
    const addresses = () => trailgate.logs().flatMap(({ event, ip }) => (event === 'admin_request' ? [ip] : []));
    await eventually('the requests are logged', () => addresses().length >= 3);
    expect(new Set(addresses())).toEqual(new Set(['127.0.0.2']));
  });

  it('exposes neither health nor metrics, and refuses other host names', async () => {
    for (const path of HEALTH) expect((await ask(path)).status).toBe(404);
    expectProblem(await ask('/admin/v1/nowhere', { host: 'evil.example' }), 'misdirected_request', 421);
  });
});
