/**
 * The output of `trailgate accounts`, `keys`, `usage`, `quota-adjustments`, `plans`, `scopes`, `targets` and `audit`
 * for people and scripts.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { addClientCommands } from '../../src/program/commands/client-commands.js';
import { readClientEnvironment } from '../../src/config/client-environment.js';
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { NodeTarget } from '../../src/nodes/node-targets.js';
import type { MergedTargetStatus } from '../../src/proxy/targets/target-status.js';
import { ADMIN_TOKEN, startAdmin, type RunningAdmin } from '../support/admin-application.js';
import { testDatabase } from '../support/database.js';
import { freePort } from '../support/processes.js';

interface Result {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

/** Runs a command line as the program does, with these variables as the environment. */
async function run(line: readonly string[], variables: Record<string, string>): Promise<Result> {
  const result = { out: '', err: '', code: 0 };
  const program = new Command('trailgate').exitOverride().configureOutput({ writeErr: (text) => (result.err += text) });
  addClientCommands(program, {
    environment: () => readClientEnvironment(variables),
    out: (text) => (result.out += text),
    err: (text) => (result.err += text),
    fail: (code) => (result.code = code),
  });
  await program.parseAsync([...line], { from: 'user' }).catch((error: { exitCode?: number }) => {
    result.code = error.exitCode ?? 99;
  });
  return result;
}

/** Returns the reports of two gateways about one target. Their names are as long as in Kubernetes. */
function targetsNow(): readonly NodeTarget[] {
  const nowMs = Date.now();
  const well: MergedTargetStatus = {
    service: 'customers',
    target: 'http://customers.backends.svc.cluster.local:4001',
    address: '10.0.0.7',
    state: 'healthy',
    inFlight: 1,
    ejectedUntilMs: null,
    lastFailure: null,
    processes: { healthy: 1, failing: 0, ejected: 0, unhealthy: 0 },
  };
  const out: MergedTargetStatus = {
    ...well,
    state: 'ejected',
    inFlight: 2,
    ejectedUntilMs: nowMs + 600_000,
    lastFailure: { outcome: 'unreachable', status: 0, atMs: nowMs - 3_600_000 * 5 },
    processes: { healthy: 1, failing: 0, ejected: 1, unhealthy: 0 },
  };
  return [
    {
      ...out,
      inFlight: 3,
      processes: { healthy: 2, failing: 0, ejected: 1, unhealthy: 0 },
      nodes: [
        { node: 'trailgate-gateway-5d8f7c9b6d-x2x7p:8080', ageMs: 1_234, status: well },
        { node: 'trailgate-gateway-5d8f7c9b6d-zzq4k:8080', ageMs: 12_000, status: out },
      ],
    },
  ];
}

describe('the client commands', () => {
  let database: DatabaseHandle;
  let running: RunningAdmin;
  let accountId: string;

  beforeAll(async () => {
    database = await testDatabase('sqlite');
    running = await startAdmin(database, { targets: targetsNow() });
    accountId = (await running.admin.createAccount({ plan: 'starter', time_zone: 'Europe/Vienna' })).id;
  });
  afterAll(async () => {
    await running.close();
    await database.close();
  });

  const cli = (...line: string[]) =>
    run(line, { TRAILGATE_ADMIN_URL: `${running.url}/`, TRAILGATE_ADMIN_TOKEN: ADMIN_TOKEN });
  const json = async (...line: string[]) => {
    const { out, err, code } = await cli(...line, '--json');
    expect({ code, err: code === 0 ? '' : err }).toEqual({ code: 0, err: '' });
    return JSON.parse(out) as Record<string, unknown>;
  };

  it('set, filter by and remove external IDs and metadata of accounts and keys', async () => {
    const made = ['--external-id', 'crm-9', '--metadata', 'tier=gold', '--metadata', 'note=a=b'];
    const account = await json('accounts', 'create', '--name', 'Inn', '--plan', 'starter', ...made);
    const id = String(account['id']);
    const key = await json('keys', 'create', id, '--name', 'k', '--scope', 'customers:read', ...made);
    const fields = { external_id: 'crm-9', metadata: { tier: 'gold', note: 'a=b' } };
    expect([account, key]).toEqual([expect.objectContaining(fields), expect.objectContaining(fields)]);
    const found = { data: [{ id }] };
    expect(await json('accounts', 'list', '--external-id', 'crm-9')).toMatchObject(found);
    expect(await json('accounts', 'list', '--metadata', 'note=a=b')).toMatchObject(found);
    expect(await json('keys', 'list', id, '--metadata', 'tier=silver')).toMatchObject({ data: [] });
    expect(await json('keys', 'update', String(key['id']), '--metadata', 'tier=silver')).toMatchObject({
      external_id: 'crm-9',
      metadata: { tier: 'silver' },
    });
    const gone = { external_id: null, metadata: {} };
    expect(await json('accounts', 'update', id, '--no-external-id', '--no-metadata')).toMatchObject(gone);
    expect(await json('keys', 'update', String(key['id']), '--no-external-id', '--no-metadata')).toMatchObject(gone);
  });

  it('list targets with the state and report age of each gateway, in 80 columns', async () => {
    const { out } = await cli('targets');
    const [heading, first, second] = out.split('\n') as [string, string, string];
    expect(heading.split(/ {2,}/)).toEqual(['SERVICE', 'TARGET', 'ADDRESS', 'NODE', 'STATE', 'AGE', 'LAST FAILURE']);
    expect(first).toMatch(/^customers {2}http.*…\S*:4001 +10\.0\.0\.7 +trail\S*…\S*x2x7p +healthy +1s +-$/);
    expect(second).toMatch(/…\S*zzq4k +ejected 10m +12s +unreachable 5h$/);
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(await json('targets', 'list')).toMatchObject({
      data: [
        {
          state: 'ejected',
          in_flight: 3,
          processes: { healthy: 2, failing: 0, ejected: 1, unhealthy: 0 },
          nodes: [
            { node: 'trailgate-gateway-5d8f7c9b6d-x2x7p:8080', age_seconds: 1.2, state: 'healthy', in_flight: 1 },
            { age_seconds: 12, state: 'ejected', last_failure: { outcome: 'unreachable', backend_status: null } },
          ],
        },
      ],
    });
  });

  it('create, change, suspend and activate an account', async () => {
    const account = await json('accounts', 'create', '--name', 'Isar', '--plan', 'pro', '--time-zone', 'Europe/Berlin');
    const id = String(account['id']);
    expect(account).toMatchObject({ name: 'Isar', plan: 'pro', time_zone: 'Europe/Berlin', billing_day: 1 });
    expect(await json('accounts', 'update', id, '--billing-day', '15')).toMatchObject({
      name: 'Isar',
      billing_day: 15,
    });
    expect(await json('accounts', 'suspend', id)).toMatchObject({ status: 'suspended' });
    expect(await json('accounts', 'activate', id)).toMatchObject({ status: 'active' });
    expect(await json('accounts', 'get', id)).toMatchObject({ id, status: 'active', billing_day: 15 });
  });

  it('create, update, rotate, pause, resume and revoke a key', async () => {
    const key = await json('keys', 'create', accountId, '--name', 'Shop', '--scope', 'customers:read,tours:read');
    const id = String(key['id']);
    expect(key).toMatchObject({ scopes: ['customers:read', 'tours:read'], secret: expect.stringMatching(/^tg_live_/) });
    const narrowed = await json('keys', 'update', id, '--scope', 'tours:read', '--allow-ip', '203.0.113.7');
    expect(narrowed).toMatchObject({ scopes: ['tours:read'], allowed_ips: ['203.0.113.7'], name: 'Shop' });
    const expiring = await json('keys', 'update', id, '--any-ip', '--expires-at', '2030-01-01T00:00:00Z');
    expect(expiring).toMatchObject({ allowed_ips: [], expires_at: '2030-01-01T01:00:00+01:00' });
    expect(await json('keys', 'update', id, '--no-expiry')).toMatchObject({ expires_at: null });
    expect(await json('keys', 'rotate', id, '--overlap', '24h')).toMatchObject({ secret: expect.any(String) });
    const shown = { pause: 'paused', resume: 'active', revoke: 'revoked', get: 'revoked' };
    for (const name in shown) expect(await json('keys', name, id)).toMatchObject({ status: shown[name as 'get'] });
  });

  it('set the limits of a key, and reset them to those of the plan', async () => {
    const made = await json('keys', 'create', accountId, '--name', 'l', '--scope', '*', '--minute-limit', '5');
    const id = String(made['id']);
    expect(made).toMatchObject({ limits: { minute: 5 } });
    const changed = await json('keys', 'update', id, '--month-limit', '900', '--minute-limit', 'none');
    expect(changed).toMatchObject({ limits: { minute: null, month: 900 } });
    expect(await json('keys', 'update', id, '--name', 'kept')).toMatchObject({ limits: { minute: null, month: 900 } });
    expect(await json('keys', 'update', id, '--plan-limits')).toMatchObject({ limits: null });
    const both = await cli('keys', 'update', id, '--plan-limits', '--month-limit', '1');
    expect(both).toMatchObject({ code: 1, err: expect.stringMatching(/--plan-limits, or --minute-limit/) });
    expect((await cli('keys', 'update', id, '--month-limit', '1e3')).err).toMatch(/whole number/);
  });

  it('create and list adjustments of a month', async () => {
    const adjust = (...line: string[]) => json('quota-adjustments', 'create', accountId, '--reason', 'fair', ...line);
    expect(await adjust('--type', 'set', '--amount', '12')).toMatchObject({ type: 'set', amount: 12, reason: 'fair' });
    expect(await adjust('--type', 'reset')).toMatchObject({ type: 'reset', amount: null, api_key_id: null });
    const { out } = await cli('quota-adjustments', 'list', accountId);
    expect(out).toMatch(
      /^CREATED AT +TYPE +AMOUNT +API KEY ID +PERIOD ENDS AT +ACTOR +REASON\n.* reset +- +- .*\n.* set +12 /,
    );
    expect((await cli('quota-adjustments', 'create', accountId, '--type', 'grant', '--reason', 'x')).err).toMatch(
      /^trailgate: 422 validation_failed: .* amount: must be given with grant\./,
    );
    const unlimited = await cli(
      'quota-adjustments',
      'create',
      accountId,
      '--type',
      'grant',
      '--amount',
      '1',
      '--reason',
      'x',
    );
    expect(unlimited.err).toMatch(/^trailgate: 409 conflict: The plan starter has no monthly limit for the account/);
  });

  it('warn on stderr, not in the output, that a secret is shown once', async () => {
    const { out, err } = await cli('keys', 'create', accountId, '--name', 'Once', '--scope', '*', '--json');
    expect(JSON.parse(out)).toHaveProperty('secret');
    expect(err).toMatch(/^This secret is shown only once/);
  });

  it('print tables for people', async () => {
    const { out } = await cli('accounts', 'list');
    const [heading, first] = out.split('\n');
    expect(heading).toMatch(/^ID +NAME +PLAN +STATUS +TIME ZONE +BILLING DAY$/);
    expect(first).toMatch(/^acc_\w+ +Isar Rafting +starter +active +Europe\/Vienna +1$/);
    expect((await cli('keys', 'list', accountId)).out).toMatch(/^ID +NAME +STATUS +HINT +SCOPES/);
    expect((await cli('accounts', 'get', accountId)).out).toMatch(/^id +acc_\w+\nname +Isar Rafting\n/);
    expect((await cli('usage', 'get', accountId)).out).toBe('none\n');
    expect((await cli('plans', 'list')).out).toMatch(/^NAME +KEY MINUTE +KEY DAY +KEY MONTH.*\nstarter +60 +- /);
    expect((await cli('scopes', 'list')).out).toMatch(/\ncustomers:read +listCustomers\n/);
    expect((await cli('audit', 'list', '--account', accountId)).out).toMatch(/operator +account\.created +acc_/);
  });

  it('list the events of an account', async () => {
    expect((await cli('accounts', 'events', accountId)).out).toMatch(/RESOURCE .*\n.+ api_key\.\w+ +key_/);
    const missing = await cli('accounts', 'events', 'acc_none');
    expect(missing).toMatchObject({ out: '', code: 1 });
  });

  it('follow the pages of a list up to the limit, and report that there are more', async () => {
    const { id } = await running.admin.createAccount({ plan: 'pro' });
    for (let count = 0; count < 105; count += 1) {
      if (count % 40 === 0) running.clock.advance(61_000);
      await running.modules.keyStore.create(
        id,
        { name: `k${count}`, scopes: ['*'], environment: 'live', expires_at: null, allowed_ips: [], limits: null },
        { actor: 'system', ip: '127.0.0.1', requestId: 'req_1' },
      );
    }
    expect((await json('keys', 'list', id, '--limit', '1000'))['data']).toHaveLength(105);
    const { out } = await cli('keys', 'list', id, '--limit', '101');
    expect(out.split('\n')).toHaveLength(104);
    expect(out).toMatch(/\n… more rows exist: raise --limit above 101\n$/);
  });

  it('report a refusal of the API in one line with the request ID, and exit with 1', async () => {
    const { out, err, code } = await cli('keys', 'create', accountId, '--name', 'x', '--scope', 'boats:steer');
    expect({ out, code }).toEqual({ out: '', code: 1 });
    expect(err).toMatch(
      /^trailgate: 422 validation_failed: Some fields are not valid\. scopes\/0: boats:steer is not a scope of any operation\. \(request req_\w+\)\n$/,
    );
    expect((await cli('accounts', 'get', 'acc_none')).err).toMatch(
      /^trailgate: 404 resource_not_found: Not found\. No account has this id\. \(request req_\w+\)\n$/,
    );
  });

  it('never let an ID change the path of the request', async () => {
    for (const id of ['..', '.', ''])
      expect((await cli('accounts', 'get', id)).err).toBe(`trailgate: "${id}" is not a valid id.\n`);
    expect((await cli('accounts', 'get', '../plans')).err).toMatch(/404 resource_not_found/);
    expect((await cli('accounts', 'get', 'x?limit=1')).err).toMatch(/404 resource_not_found/);
  });

  it('reject invalid, conflicting and missing options', async () => {
    expect(await cli('keys', 'rotate', 'key_1', '--overlap', '2h')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/one of 0, 1h, 24h, 7d/),
    });
    const both = await cli('keys', 'update', 'key_1', '--no-expiry', '--expires-at', '2030-01-01T00:00:00Z');
    expect(both).toMatchObject({ code: 1, err: 'trailgate: Use either --expires-at or --no-expiry, not both.\n' });
    expect((await cli('accounts', 'create', '--name', 'x')).err).toMatch(/required option '--plan <plan>'/);
    expect((await cli('accounts', 'list', '--limit', '0')).err).toMatch(/number from 1/);
  });

  it('name the URL and the command to start if nothing answers', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const { err, code } = await run(['plans', 'list'], { TRAILGATE_ADMIN_URL: url, TRAILGATE_ADMIN_TOKEN: 'x' });
    const message = `No response from ${url}. Start it (trailgate start, or npm start), or set TRAILGATE_ADMIN_URL.`;
    expect({ err, code }).toEqual({ err: `trailgate: ${message}\n`, code: 1 });
  });

  it('report a server that is not the admin API, and an invalid URL', async () => {
    const server = createServer((_, response) => response.end('<html>\u001b[2J')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const other = await run(['plans', 'list'], { TRAILGATE_ADMIN_URL: url, TRAILGATE_ADMIN_TOKEN: 'x' });
    expect(other.err).toMatch(/answered 200 with something that is not the admin API: check TRAILGATE_ADMIN_URL\.\n$/);
    server.close();
    for (const bad of ['localhost:8081', 'not a url']) {
      const { err } = await run(['plans', 'list'], { TRAILGATE_ADMIN_URL: bad, TRAILGATE_ADMIN_TOKEN: 'x' });
      expect(err).toBe('trailgate: TRAILGATE_ADMIN_URL must be a URL such as http://127.0.0.1:8081.\n');
    }
  });

  it('read the token from the data folder if the environment has none, and report if neither has one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'trailgate-cli-'));
    const variables = { TRAILGATE_ADMIN_URL: running.url, TRAILGATE_DATA_DIR: folder, TRAILGATE_ADMIN_TOKEN: '' };
    const without = await run(['plans', 'list'], variables);
    expect(without.err).toBe(
      `trailgate: No operator token: set TRAILGATE_ADMIN_TOKEN, or run this where ${folder}/admin-token can be read.\n`,
    );
    writeFileSync(join(folder, 'admin-token'), `${ADMIN_TOKEN}\n`);
    expect((await run(['plans', 'list'], variables)).code).toBe(0);
    rmSync(folder, { recursive: true });
  });

  it('report an invalid token', async () => {
    const variables = { TRAILGATE_ADMIN_URL: running.url, TRAILGATE_ADMIN_TOKEN: 'wrong' };
    expect((await run(['plans', 'list'], variables)).err).toMatch(
      /^trailgate: 401 invalid_credentials: .*\(request req_/,
    );
  });

  it('report how long to wait after too many requests, and after too many invalid tokens', async () => {
    const busy = await startAdmin(database, { settings: { operatorRequestsPerMinute: 100 } });
    const until429 = async (token: string): Promise<string> => {
      for (let count = 0; count < 1_500; count += 1) {
        const variables = { TRAILGATE_ADMIN_URL: busy.url, TRAILGATE_ADMIN_TOKEN: token };
        const { err } = await run(['plans', 'list'], variables);
        if (err.startsWith('trailgate: 429')) return err;
      }
      return 'never refused';
    };
    try {
      expect(await until429('wrong')).toMatch(
        /^trailgate: 429 too_many_failed_attempts: Too many invalid tokens from this address\. Wait \d+ seconds\. \(request/,
      );
      expect(await until429(ADMIN_TOKEN)).toMatch(
        /^trailgate: 429 too_many_requests: Too many requests\. Wait \d+ seconds\. \(request req_\w+\)\n$/,
      );
    } finally {
      await busy.close();
    }
  });

  it('report how long to wait if only the Retry-After header has it', async () => {
    const body = JSON.stringify({ code: 'database_unavailable', detail: 'It cannot be reached.' });
    const answer = { 'retry-after': '17', 'content-type': 'application/problem+json' };
    const server = createServer((_, response) => response.writeHead(503, answer).end(body)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { err } = await run(['plans', 'list'], { TRAILGATE_ADMIN_URL: url, TRAILGATE_ADMIN_TOKEN: 'x' });
    server.close();
    expect(err).toBe('trailgate: 503 database_unavailable: It cannot be reached. Try again in 17 s.\n');
  });

  it('remove terminal control characters from error messages', async () => {
    const body = JSON.stringify({ code: 'x', detail: 'a\u001b[2J\nb', data: [] });
    const server = createServer((_, response) => response.writeHead(400).end(body)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { err } = await run(['plans', 'list'], { TRAILGATE_ADMIN_URL: url, TRAILGATE_ADMIN_TOKEN: 'x' });
    expect(err).toBe('trailgate: 400 x: a [2J b\n');
    server.close();
  });
});
