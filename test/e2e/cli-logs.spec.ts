/** The output of `trailgate logs` for people and scripts. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send, type Answer } from '../support/http.js';
import { eventually } from '../support/processes.js';
import { runTrailgate } from '../support/program.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

describe('trailgate logs', () => {
  let backend: Backend;
  let trailgate: SharedTrailgate;
  let env: Record<string, string>;
  let account: string;
  let secret: string;
  const sent: string[] = [];
  beforeAll(async () => {
    backend = await startBackend(json({}));
    trailgate = await acquireTrailgate({ backend: backend.url, config: { usage: { flushInterval: '100ms' } } });
    env = { TRAILGATE_ADMIN_URL: trailgate.adminUrl, TRAILGATE_ADMIN_TOKEN: trailgate.adminToken };
    const made = await trailgate.admin.newKey('unlimited', { scopes: ['files:read'] });
    account = made.account.id;
    secret = made.key.secret;
    for (const path of ['/open', '/files/a', '/customers']) sent.push(await call(path));
    await waitForLog(3);
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  const call = async (path: string): Promise<string> => {
    const headers = { Authorization: `Bearer ${secret}` };
    const answer: Answer = await send(`${trailgate.gatewayUrl}/api/v1${path}`, { headers });
    return String(answer.headers['x-request-id']);
  };
  const waitForLog = (most: number) =>
    eventually('the requests are in the log', async () => {
      const list = await trailgate.admin.call<{ data: unknown[] }>('GET', `/accounts/${account}/requests`);
      return list.data.length === most;
    });
  const logs = (...line: string[]) => runTrailgate(['logs', ...line], { env });

  it('prints one line of at most 80 columns per request under its day, newest last', async () => {
    const { stdout, code } = await logs(account);
    expect(code).toBe(0);
    const [day, ...lines] = stdout.trimEnd().split('\n');
    expect(day).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(lines.length).toBe(3);
    expect(lines[0]).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d  200 +[\\d.]+ ms  ${sent[0]}  getOpen$`));
    expect(lines[2]).toMatch(new RegExp(`403 +[\\d.]+ ms  ${sent[2]}  listCustomers insu`));
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it('filters by status and code, prints JSON for scripts, and reports entries beyond --limit', async () => {
    expect((await logs(account, '--status', 'error', '--json')).stdout).toContain('"insufficient_scope"');
    expect((await logs(account, '--code', 'quota_exceeded')).stdout).toBe('none\n');
    expect((await logs(account, '--limit', '1')).stdout).toMatch(/^… and earlier ones: --limit shows more than 1\n/);
    expect((await logs(account, '--status', 'teapot')).stderr).toMatch(/status: must be a status such as 403/);
  });

  it('shows why one request was refused, and what it would get now', async () => {
    const { stdout } = await logs(account, sent[2] ?? '');
    expect(stdout).toMatch(/^code +insufficient_scope$/m);
    expect(stdout).toMatch(/^means +\S/m);
    expect(stdout).toMatch(/^now +403 insufficient_scope: /m);
    expect((await logs(account, 'req_nobody')).stderr).toMatch(/The account has no stored request/);
  });

  it('prints each new request once with --follow', async () => {
    const following = spawn(process.execPath, [resolve('dist/main.js'), 'logs', account, '--follow', '--json'], {
      env: { PATH: process.env['PATH'] ?? '', ...env },
    });
    let out = '';
    following.stdout.on('data', (text: Buffer) => (out += text.toString()));
    try {
      await eventually('the command prints earlier requests', () => out.includes(sent[2] ?? ''));
      const later = [await call('/open'), await call('/files/b')];
      await eventually('the command prints later requests', () => later.every((id) => out.includes(id)));
      const ids = out
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { request_id: string }).request_id);
      expect(ids).toEqual([sent[2], ...later]);
    } finally {
      following.kill('SIGKILL');
      await once(following, 'exit');
    }
  });
});
