/** Trailgate as a deployment runs it: one process, all roles, counters in Redis, SQLite in a temporary folder. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNTS, BENCH_LIMITS, KEYS_PER_ACCOUNT, SCOPE, TINY_LIMITS, writeSecrets } from './keys.mjs';
import { GATEWAY_CORE, startProgram, temporaryFolder, untilReady } from './processes.mjs';
import { startRedis } from './redis.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');
/** Admin calls that are under way at once while the keys are made. */
const PARALLEL_CALLS = 8;
const USAGE_ATTEMPTS = 20;

/** A scope that some operation has, and not the one that is asked for. */
const OTHER_SCOPE = 'invoices:read';

const DOES_ALL = { keyed: true, scoped: true, limits: true };

/** The rows of the table: as it is run under load, and with one log line a request. */
export const TRAILGATES = [
  { id: 'trailgate', title: '**Trailgate**', ...DOES_ALL, start: (context) => start(context, 'trailgate', 'warn') },
  {
    id: 'trailgate-logging',
    title: 'Trailgate, one log line a request (to a file)',
    ...DOES_ALL,
    start: (context) => start(context, 'trailgate-logging', 'info'),
  },
];

function configuration(backendUrl) {
  return JSON.stringify({
    gateway: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    api: { basePath: '/api/v1', title: 'Benchmark' },
    services: { customers: { targets: [backendUrl] } },
    operations: [
      { match: 'GET /customers', service: 'customers', scopes: [SCOPE] },
      { match: 'GET /echo', service: 'customers', scopes: [SCOPE] },
      { match: 'GET /invoices', service: 'customers', scopes: ['invoices:read'] },
    ],
    plans: { bench: BENCH_LIMITS, tiny: TINY_LIMITS },
  }); // JSON is YAML
}

async function start({ backend }, name, logLevel) {
  const redis = await startRedis(name);
  const folder = path.join(temporaryFolder(), name);
  mkdirSync(folder);
  const config = path.join(folder, 'gateway.yaml');
  writeFileSync(config, configuration(backend.url));
  const token = randomBytes(24).toString('hex');
  const program = startProgram({
    name,
    command: process.execPath,
    args: [path.join(ROOT, 'dist/main.js'), 'start', '--config', config, '--roles', 'gateway,admin,worker'],
    core: GATEWAY_CORE,
    cwd: folder,
    env: {
      NODE_ENV: 'production',
      REDIS_URL: redis.url,
      DATABASE_URL: '',
      TRAILGATE_DATA_DIR: path.join(folder, 'data'),
      TRAILGATE_ADMIN_TOKEN: token,
      LOG_LEVEL: logLevel,
    },
  });
  const { gateway: url, admin } = await untilReady(program, () => listeningUrls(program));
  const keys = await makeKeys(name, adminClient(admin, token));
  const used = async (secret) => (await usage(url, secret)).map((window) => window.used);
  const usedThisMonth = async (secret) =>
    (await usage(url, secret)).find(({ policy }) => policy === 'account-month').used;
  return {
    program,
    url,
    redis,
    ...keys,
    counters: () => used(keys.secrets[0]),
    // `grep` ends with 1 where no line matches
    lostRedis: () => spawnSync('grep', ['-q', '"event":"quota_store_lost"', program.log]).status === 0,
    monthTotal: async () => sum(await Promise.all(keys.oneOfEachAccount.map(usedThisMonth))),
  };
}

/** The URLs that the `listening` lines give by role; false until both are there. */
function listeningUrls({ log }) {
  const urls = {};
  for (const [line] of readFileSync(log, 'utf8').matchAll(/^\{.*"event":"listening".*\}$/gm)) {
    const { role, url } = JSON.parse(line);
    urls[role] = url;
  }
  return urls.gateway !== undefined && urls.admin !== undefined && urls;
}

function adminClient(url, token) {
  return async (resource, body) => {
    const response = await fetch(`${url}/admin/v1/${resource}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`POST ${resource}: ${response.status} ${await response.text()}`);
    return response.json();
  };
}

async function makeKeys(name, post) {
  const account = async (plan) => (await post('accounts', { name: `Rafting ${plan}`, plan })).id;
  const key = async (id, scope) => (await post(`accounts/${id}/api-keys`, { name: 'bench', scopes: [scope] })).secret;
  const secrets = [];
  const oneOfEachAccount = [];
  for (let made = 0; made < ACCOUNTS; made += PARALLEL_CALLS) {
    const some = Array.from({ length: Math.min(PARALLEL_CALLS, ACCOUNTS - made) }, async () => {
      const id = await account('bench');
      const own = [];
      for (let i = 0; i < KEYS_PER_ACCOUNT; i++) own.push(await key(id, SCOPE));
      secrets.push(...own);
      oneOfEachAccount.push(own[0]);
    });
    await Promise.all(some);
  }
  return {
    secrets,
    oneOfEachAccount,
    secretsFile: writeSecrets(`${name}-keys.txt`, secrets),
    unscoped: await key(await account('bench'), OTHER_SCOPE),
    tiny: await key(await account('tiny'), SCOPE),
  };
}

/** The four windows as the key's own usage page tells them; asking costs nothing. Asked again while Redis is too slow. */
async function usage(url, secret) {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(`${url}/api/v1/usage`, { headers: { authorization: `Bearer ${secret}` } });
    if (response.status === 200) return (await response.json()).windows;
    const text = await response.text();
    if (response.status !== 503 || attempt === USAGE_ATTEMPTS) throw new Error(`GET /api/v1/usage: ${text}`);
    await sleep(200);
  }
}

function sum(values) {
  return values.reduce((total, value) => total + value, 0);
}
