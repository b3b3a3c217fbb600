/** A failed start prints one line that says why and what to do, exits with 1, and leaves nothing behind. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Redis } from 'ioredis';
import { MIGRATIONS } from '../../src/stores/database/migrations.js';
import type { ApiKeyWithSecret } from '../support/admin.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { olderSqlite } from '../support/database.js';
import { describeWithOwnRedis, describeWithPostgres } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { newDatabase } from '../support/postgres.js';
import { freePort, temporaryFolder } from '../support/processes.js';
import { writeConfig, type Json } from '../support/program-config.js';
import { runTrailgate, startTrailgate, type CommandResult } from '../support/program.js';
import { startRedis } from '../support/redis.js';

const TOKEN = 'operator-token-of-the-tests-0123456789';

interface Attempt {
  readonly folder?: string;
  readonly config?: Json;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
}

/** Runs a start that must fail. Uses its own folder by default. */
function attempt({
  folder = temporaryFolder('start'),
  config = {},
  env = {},
  args = [],
}: Attempt): Promise<CommandResult> {
  const path = writeConfig(folder, { targets: ['http://127.0.0.1:9'], config });
  return runTrailgate(['start', '--config', path, ...args], {
    env: { TRAILGATE_DATA_DIR: join(folder, 'data'), TRAILGATE_ADMIN_TOKEN: TOKEN, ...env },
    cwd: folder,
  });
}

/** Expects one line on stderr without a stack or secret, and exit code 1. Returns the line. */
function expectOneLine({ code, signal, stderr, stdout }: CommandResult): string {
  expect({ code, signal }).toEqual({ code: 1, signal: null });
  const lines = stderr.trimEnd().split('\n');
  expect(lines).toHaveLength(1);
  expect(stderr + stdout).not.toMatch(/\n\s+at |node:internal|hidden-password/);
  expect(lines[0]).not.toContain(TOKEN);
  return lines[0] ?? '';
}

/** Returns the hints of all problems of a configuration, in order. */
const hintsIn = (stderr: string): string[] => [...stderr.matchAll(/^ +→ (.+)$/gm)].map(([, hint = '']) => hint);

/** Creates a data folder of an earlier version. Returns it with a check that no start has changed it. */
async function olderData(): Promise<{ readonly dataDir: string; readonly expectUnchanged: () => void }> {
  const dataDir = temporaryFolder('older');
  const file = await olderSqlite(dataDir, '0020_request_sources');
  const before = readFileSync(file);
  const expectUnchanged = (): void => {
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(dataDir).filter((name) => name.startsWith('trailgate.db'))).toEqual(['trailgate.db']);
  };
  return { dataDir, expectUnchanged };
}

/** Data folder that every start must leave unchanged, except for the one that migrates it. */
let older: Awaited<ReturnType<typeof olderData>>;
/** Free port for the listeners that do not cause the failure. */
let other: number;
/** Start that waits five seconds for Redis. It begins early, so that other tests run meanwhile. */
let redisRefuses: Promise<{
  readonly port: number;
  readonly result: Promise<CommandResult>;
  readonly expectUnchanged: () => void;
}>;
beforeAll(async () => {
  const begin = async () => {
    const [port, { dataDir, expectUnchanged }] = await Promise.all([freePort(), olderData()]);
    const env = { REDIS_URL: `redis://:hidden-password@127.0.0.1:${port}`, TRAILGATE_DATA_DIR: dataDir };
    const closed = { onRedisLoss: 'closed' };
    const config = { plans: { starter: closed, pro: closed, unlimited: closed } };
    return { port, result: attempt({ env, config }), expectUnchanged };
  };
  redisRefuses = begin();
  [older, other] = await Promise.all([olderData(), freePort()]);
});

describe('a configuration', () => {
  it('with ten mistakes is rejected with all of them at once, each with its line and a hint', async () => {
    const folder = temporaryFolder('start');
    const text = [
      'gateway: { host: 0.0.0.0, port: 99999 }', // 1
      'admin: { prot: 8081 }', // 2
      'api: { basePath: API/v1, deprecation: tomorrow }', // 3: two mistakes
      'services:',
      '  customers:',
      '    targets: [ftp://127.0.0.1:4001]', // 6
      '    maxBodyBytes: huge', // 7
      '    timeouts: { connect: 5 minutes }', // 8
      'operations:',
      '  - match: FETCH /customers', // 10
      'plans:',
      '  starter: { key: { minute: -1 }, onRedisLoss: panic }', // 12: two mistakes
      '',
    ].join('\n');
    writeFileSync(join(folder, 'gateway.yaml'), text);
    const started = await runTrailgate(['start'], { cwd: folder });
    const checked = await runTrailgate(['check'], { cwd: folder });
    expect([started.code, checked.code]).toEqual([1, 1]);
    for (const line of [1, 2, 3, 6, 7, 8, 10, 12])
      expect(started.stderr).toMatch(new RegExp(`gateway\\.yaml:${line}:`));
    const problems = started.stderr.match(/gateway\.yaml:\d+:\d+/g) ?? [];
    expect(problems.length).toBeGreaterThanOrEqual(10);
    expect(hintsIn(started.stderr)).toHaveLength(problems.length);
    for (const word of [
      'port',
      'prot',
      'basePath',
      'deprecation',
      'targets',
      'maxBodyBytes',
      'connect',
      'match',
      'minute',
      'onRedisLoss',
    ]) {
      expect(started.stderr).toContain(word);
    }
    expect(started.stderr).not.toMatch(/\n\s+at |ZodError/);
    expect(checked.stdout + checked.stderr).toContain(problems[0]);
    expect(readdirSync(folder)).toEqual(['gateway.yaml']);
  });

  it('that does not exist is named, with the path at which it was expected', async () => {
    const folder = temporaryFolder('start');
    const result = await runTrailgate(['start', '--config', 'nowhere.yaml'], { cwd: folder });
    expect(result.code).toBe(1);
    expect(result.stderr).toMatch(/nowhere\.yaml/);
    expect(hintsIn(result.stderr)).toEqual([`looked for ${join(folder, 'nowhere.yaml')}`]);
    expect(result.stderr).not.toMatch(/\n\s+at /);
  });

  it('with OpenAPI documents that are invalid or missing is rejected, each file is named and has a hint', async () => {
    const folder = temporaryFolder('start');
    const documents = { yaml: 'openapi: 3.1.0\npaths: {\n', swagger: '{"swagger":"2.0","paths":{}}' };
    for (const [name, text] of Object.entries(documents)) writeFileSync(join(folder, `${name}.openapi.yaml`), text);
    const targets = ['http://127.0.0.1:9'];
    const services = Object.fromEntries(
      ['yaml', 'swagger', 'missing'].map((name) => [name, { targets, openapi: `./${name}.openapi.yaml` }]),
    );
    const result = await attempt({ folder, config: { services } });
    expect(result.code).toBe(1);
    for (const where of [/yaml\.openapi\.yaml:[23]/, /swagger\.openapi\.yaml/, /missing\.openapi\.yaml/]) {
      expect(result.stderr).toMatch(where);
    }
    expect(hintsIn(result.stderr)).toEqual([
      `looked for ${join(folder, 'missing.openapi.yaml')}`,
      expect.stringContaining('convert it'),
      expect.stringContaining('look at this line'),
    ]);
    expect(result.stderr).not.toMatch(/\n\s+at /);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('with invalid environment variables is rejected with all of them at once, and without secrets', async () => {
    const env = {
      TRAILGATE_GATEWAY_PORT: 'http',
      DATABASE_URL: 'mysql://u:hidden-password@h/d',
      REDIS_URL: 'localhost:hidden-password',
      TRAILGATE_ADMIN_TOKEN: 'hidden-password',
      LOG_LEVEL: 'loud',
    };
    const { code, stderr } = await attempt({ env });
    expect(code).toBe(1);
    for (const name of Object.keys(env)) expect(stderr).toContain(name);
    expect(stderr.trimEnd().split('\n')).toHaveLength(5);
    expect(stderr).not.toMatch(/hidden-password|\n\s+at /);
  });
});

describe('the command line', () => {
  it('lists the valid roles when it gets an unknown one', async () => {
    const { code, stderr } = await attempt({ args: ['--roles', 'gateway,postman'] });
    expect(code).toBe(1);
    expect(stderr).toMatch(/"postman" is no role; choose from gateway, admin, worker/);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  it.each([['strat'], ['start', '--rolls', 'gateway']])(
    'shows the usage for an unknown command or option: %s',
    async (...args) => {
      const { code, stderr } = await runTrailgate(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/unknown (?:command|option)/);
      expect(stderr).toMatch(/Usage: trailgate/);
    },
  );
});

describe('a start with unusable stores', () => {
  it('names the address of a required Redis that refuses connections, and migrates nothing', async () => {
    const { port, result, expectUnchanged } = await redisRefuses;
    const line = expectOneLine(await result);
    expect(line).toMatch(new RegExp(`does not answer \\(connect ECONNREFUSED 127\\.0\\.0\\.1:${port}\\)`));
    expect(line).toMatch(/Start it, correct REDIS_URL, or unset it/);
    expectUnchanged();
  });

  it.each([
    ['is a file', (folder: string) => join(folder, 'gateway.yaml')],
    ['lies in a file', (folder: string) => join(folder, 'gateway.yaml', 'data')],
    ['cannot be made', () => '/proc/trailgate/data'],
  ])('names a data folder that %s, and the variable to set', async (_what, dataDir) => {
    const folder = temporaryFolder('start');
    const line = expectOneLine(await attempt({ folder, env: { TRAILGATE_DATA_DIR: dataDir(folder) } }));
    expect(line).toContain(dataDir(folder));
    expect(line).toMatch(/TRAILGATE_DATA_DIR/);
  });

  it('names a database file that is not SQLite, and leaves no PID file', async () => {
    const folder = temporaryFolder('start');
    const dataDir = temporaryFolder('data');
    writeFileSync(join(dataDir, 'trailgate.db'), 'my diary, '.repeat(1_000));
    const line = expectOneLine(await attempt({ folder, env: { TRAILGATE_DATA_DIR: dataDir } }));
    expect(line).toMatch(/trailgate\.db is not an SQLite database: move it away, or set TRAILGATE_DATA_DIR/);
    expect(existsSync(join(dataDir, 'trailgate.pid'))).toBe(false);
  });
});

describeWithPostgres('a start on PostgreSQL', () => {
  it('with a wrong password says so, without the password', async () => {
    const database = await newDatabase();
    const url = new URL(database.url);
    url.password = 'hidden-password';
    const line = expectOneLine(await attempt({ env: { DATABASE_URL: url.href } }));
    expect(line).toMatch(/refuses user "\w+" or its password: correct DATABASE_URL/);
    await database.drop();
  });

  it('without the database names it, and the command that creates it', async () => {
    const database = await newDatabase();
    await database.drop();
    const name = new URL(database.url).pathname.slice(1);
    const line = expectOneLine(await attempt({ env: { DATABASE_URL: database.url } }));
    expect(line).toContain(`no database "${name}": create it (createdb ${name}), or correct DATABASE_URL`);
  });

  it('with an unwritable data folder and no operator token names both variables', async () => {
    const database = await newDatabase();
    const env = { DATABASE_URL: database.url, TRAILGATE_DATA_DIR: '/proc/trailgate/data', TRAILGATE_ADMIN_TOKEN: '' };
    const line = expectOneLine(await attempt({ env }));
    expect(line).toMatch(/TRAILGATE_ADMIN_TOKEN/);
    expect(line).toMatch(/TRAILGATE_DATA_DIR/);
    await database.drop();
  });
});

describeWithOwnRedis('a start on Redis', () => {
  it('with a wrong password says so within ten seconds, without the password', async () => {
    const redis = await startRedis();
    const client = new Redis(redis.url);
    await client.config('SET', 'requirepass', 'the right one');
    client.disconnect();
    const REDIS_URL = `redis://:hidden-password@127.0.0.1:${redis.port}`;
    const startedMs = performance.now();
    const line = expectOneLine(await attempt({ env: { REDIS_URL } }));
    expect(quietMsSince(startedMs)).toBeLessThan(10_000);
    expect(line).toMatch(/WRONGPASS|password/i);
    expect(line).toMatch(/REDIS_URL/);
    await redis.stop();
  });
});

describe('a start beside a running process', () => {
  let backend: Backend;
  let running: Awaited<ReturnType<typeof startTrailgate>>;
  let secret: string;
  beforeAll(async () => {
    backend = await startBackend(json({}));
    running = await startTrailgate({ backend: backend.url });
    ({ secret } = (await running.admin.newKey()).key);
  });
  afterAll(async () => {
    await running.stop();
    await backend.stop();
  });

  const expectFirstStillAnswers = async () => {
    const headers = { Authorization: `Bearer ${secret}` };
    expect((await send(`${running.gatewayUrl}/api/v1/customers`, { headers })).status).toBe(200);
    expect((await running.admin.createAccount()).id).toMatch(/^acc_/);
  };

  it.each([
    ['gateway', 'TRAILGATE_GATEWAY_PORT'],
    ['admin', 'TRAILGATE_ADMIN_PORT'],
    ['health', 'admin.health.port'],
    ['oauth', 'mcp.oauth.port'],
  ] as const)(
    'on a taken port for %s names its setting, and leaves the database of an earlier version unchanged',
    async (role, setting) => {
      const taken = Number(new URL(running.gatewayUrl).port);
      const oauth = { publicUrl: 'https://mcp.example', port: taken };
      const config: Json = {
        gateway: { gateway: { port: taken }, admin: { port: other } },
        admin: { gateway: { port: other }, admin: { port: taken } },
        health: { gateway: { port: other }, admin: { health: { port: taken } } },
        oauth: { mcp: { oauth }, admin: { url: 'https://admin.example', trustedProxies: ['127.0.0.1'] } },
      }[role];
      const args = role === 'gateway' ? ['--workers', '2'] : [];
      const line = expectOneLine(await attempt({ config, env: { TRAILGATE_DATA_DIR: older.dataDir }, args }));
      expect(line).toMatch(`Port ${taken} is in use, so the ${role} cannot listen`);
      expect(line).toContain('Stop what uses it, or set ');
      expect(line).toContain(setting);
      older.expectUnchanged();
      await expectFirstStillAnswers();
    },
  );

  it('on the same data folder names the process that uses it, and does not disturb it', async () => {
    const line = expectOneLine(await attempt({ env: { TRAILGATE_DATA_DIR: running.dataDir } }));
    expect(line).toMatch(`in use by process ${running.pid}`);
    expect(line).toMatch(/: stop it, give this one another TRAILGATE_DATA_DIR, or set REDIS_URL on both/);
    await expectFirstStillAnswers();
  });
});

describe('a data folder of an earlier version that other users can enter', () => {
  let backend: Backend;
  let lost: ApiKeyWithSecret;
  let kept: ApiKeyWithSecret;
  const modes = () =>
    readdirSync(older.dataDir).map((name) => [name, statSync(join(older.dataDir, name)).mode] as const);
  const readable = () => modes().flatMap(([name, mode]) => ((mode & 0o077) === 0 ? [] : [name]));
  beforeAll(async () => {
    backend = await startBackend(json({}));
    chmodSync(older.dataDir, 0o755);
  });
  afterAll(() => backend.stop());

  it('is migrated with one log line that names both versions and the copy, and gets private files', async () => {
    const config = { gateway: { port: other } };
    const first = await startTrailgate({ dataDir: older.dataDir, backend: backend.url, config });
    // The failed starts have released the folder and the ports.
    expect(new URL(first.gatewayUrl).port).toBe(String(other));
    const to = Object.keys(MIGRATIONS).at(-1) ?? '';
    const copy = join(older.dataDir, 'trailgate.db.before-0021_open_deliveries');
    expect(first.logs().filter(({ event }) => event === 'migrated')).toEqual([
      expect.objectContaining({ from: '0020_request_sources', to, migrations: expect.any(Number), copy }),
    ]);
    lost = (await first.admin.newKey('pro')).key;
    kept = (await first.admin.newKey('starter')).key;
    expect(readdirSync(older.dataDir)).toEqual(expect.arrayContaining(['trailgate.db', 'trailgate.db-wal']));
    expect(readable()).toEqual([]);
    await first.stop();
  });

  it('gets private database files, and only accounts with a removed plan are refused, with 503', async () => {
    writeFileSync(join(older.dataDir, 'customers.db'), '');
    writeFileSync(join(older.dataDir, 'notes.txt'), 'of the operator');
    for (const name of ['trailgate.db', 'customers.db', 'notes.txt']) chmodSync(join(older.dataDir, name), 0o644);
    const config = { plans: { pro: null } };
    const second = await startTrailgate({ dataDir: older.dataDir, backend: backend.url, config });
    expect(readable()).toEqual(['notes.txt']);
    const tightened = second.logs().filter(({ event }) => event === 'data_files_tightened');
    expect(tightened).toEqual([expect.objectContaining({ level: 'warn', files: ['customers.db', 'trailgate.db'] })]);
    expect(second.logs()).toContainEqual(
      expect.objectContaining({ level: 'error', event: 'unknown_plans', plans: ['pro'] }),
    );
    const call = (secret: string) =>
      send(`${second.gatewayUrl}/api/v1/customers`, { headers: { Authorization: `Bearer ${secret}` } });
    expect((await call(lost.secret)).json()).toMatchObject({ status: 503, code: 'quota_unavailable' });
    expect((await call(kept.secret)).status).toBe(200);
    await second.stop();
    const database = new DatabaseSync(join(older.dataDir, 'trailgate.db'), { readOnly: true });
    expect(database.prepare("select count(*) as n from account where plan = 'pro'").get()).toEqual({ n: 1 });
    database.close();
  });
});
