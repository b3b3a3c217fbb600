/** Starts the built program like a deployment: all roles, counters in Redis, and SQLite in a temporary folder. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { imageMemorySettings } from './image.mjs';
import { GATEWAY_CORE, startProgram, temporaryFolder, untilReady } from './processes.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');
const USAGE_ATTEMPTS = 20;
/** Maximum time until Redis is in use again. Replaying the counts of an outage takes longer with many keys. */
const BACK_TIMEOUT_MS = 120_000;
/** Time for requests that were in flight when Redis came back, because they may still be counted. */
const BACK_SETTLE_MS = 1_000;
/** Number of concurrent requests for usage. */
const PARALLEL_READS = 64;

/** Returns a `gateway.yaml` with local listeners on free ports, and the given settings. */
export function configuration({ gateway = {}, ...rest }) {
  return {
    gateway: { host: '127.0.0.1', port: 0, limits: { connectionsPerAddress: 0 }, ...gateway },
    admin: { host: '127.0.0.1', port: 0 },
    api: { basePath: '/api/v1', title: 'Benchmark' },
    ...rest,
  };
}

/**
 * Starts the program, and resolves when it listens. `stopProgram` or `stopAll` stops it.
 * @param {{ name: string, config: object, redisUrl: string, logLevel?: string, core?: number | string,
 *   nodeArgs?: string[], args?: string[], fill?: (dataDir: string) => Promise<void>, env?: NodeJS.ProcessEnv
 *   }} options
 *   - `config`: content of `gateway.yaml`
 *   - `redisUrl`: empty for no Redis
 *   - `fill`: writes to the database before the start
 *   - `args`, `env`: additional arguments and variables of the program
 */
export async function startTrailgate({ name, config, redisUrl, fill, ...options }) {
  const { logLevel = 'warn', core = GATEWAY_CORE, nodeArgs = [], args = [], env = {} } = options;
  const folder = path.join(temporaryFolder(), name);
  const dataDir = path.join(folder, 'data');
  mkdirSync(folder);
  const file = path.join(folder, 'gateway.yaml');
  writeFileSync(file, JSON.stringify(config)); // JSON is YAML
  await fill?.(dataDir);
  const token = randomBytes(24).toString('hex');
  const main = path.join(ROOT, 'dist/main.js');
  const program = startProgram({
    name,
    command: process.execPath,
    args: [...nodeArgs, main, 'start', '--config', file, '--roles', 'gateway,admin,worker', ...args],
    core,
    cwd: folder,
    env: {
      ...imageMemorySettings(),
      NODE_ENV: 'production',
      REDIS_URL: redisUrl,
      DATABASE_URL: '',
      TRAILGATE_DATA_DIR: dataDir,
      TRAILGATE_ADMIN_TOKEN: token,
      LOG_LEVEL: logLevel,
      ...env,
    },
  });
  const { gateway: url, admin } = await untilReady(program, () => listeningUrls(program));
  return {
    program,
    url,
    adminUrl: admin,
    post: adminClient(admin, token),
    lostRedis: () => linesOf(program.log, 'quota_store_lost') > 0,
    timesLost: () => linesOf(program.log, 'quota_store_lost'),
    redisIsBack: () => redisIsBack(program),
  };
}

function linesOf(log, event) {
  const { stdout } = spawnSync('grep', ['-c', `"event":"${event}"`, log], { encoding: 'utf8' });
  return Number(stdout);
}

/**
 * Resolves when the gateway uses Redis again and has replayed the counts of each outage. Resolves at once if the log
 * contains no outage. Rejects after 2 minutes.
 */
async function redisIsBack({ log }) {
  if (linesOf(log, 'quota_store_lost') === 0) return;
  const deadline = performance.now() + BACK_TIMEOUT_MS;
  while (linesOf(log, 'quota_store_back') < linesOf(log, 'quota_store_lost')) {
    if (performance.now() > deadline)
      throw new Error('Redis was too slow, and the gateway still does not use it again');
    await sleep(100);
  }
  await sleep(BACK_SETTLE_MS);
}

/** Returns the URLs in the `listening` lines of the log by role; false until gateway and admin listen. */
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

/**
 * Returns the windows in the key's own usage report, which uses no quota. Repeats the request up to 20 times while the
 * response is 503, because Redis is too slow.
 */
export async function usage(url, secret) {
  for (let attempt = 0; ; attempt++) {
    const response = await fetch(`${url}/api/v1/usage`, { headers: { authorization: `Bearer ${secret}` } });
    if (response.status === 200) return (await response.json()).windows;
    const text = await response.text();
    if (response.status !== 503 || attempt === USAGE_ATTEMPTS) throw new Error(`GET /api/v1/usage: ${text}`);
    await sleep(200);
  }
}

/**
 * Returns the sum of the month counts of accounts.
 * @param {string[]} secrets a secret of each account
 */
export async function monthTotal(url, secrets) {
  let total = 0;
  for (let at = 0; at < secrets.length; at += PARALLEL_READS) {
    const read = secrets.slice(at, at + PARALLEL_READS).map(async (secret) => {
      const windows = await usage(url, secret);
      return windows.find(({ policy }) => policy === 'account-month').used;
    });
    for (const used of await Promise.all(read)) total += used;
  }
  return total;
}
