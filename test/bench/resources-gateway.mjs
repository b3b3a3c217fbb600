/** Starts the built program with settings for many connections, and reads the memory of its process. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { imageMemorySettings } from './image.mjs';
import { GATEWAY_CORE, startProgram, stopProgram, temporaryFolder, untilReady } from './processes.mjs';

const ROOT = path.resolve(import.meta.dirname, '../..');
const SAMPLE_INTERVAL_MS = 100;

function configuration(backendUrl, tls) {
  const service = { targets: [backendUrl], connections: 10_000, accountShare: 1, timeouts: { idle: '60s' } };
  const operation = (name) => ({ match: `GET /${name}`, service: 'streams', scopes: [] });
  return JSON.stringify({
    gateway: { host: '127.0.0.1', port: 0, limits: { connectionsPerAddress: 0 }, ...(tls && { tls }) },
    admin: { host: '127.0.0.1', port: 0 },
    api: { basePath: '/api/v1', title: 'Benchmark' },
    services: { streams: service },
    operations: ['hello', 'events', 'large'].map(operation),
    plans: { bench: {} },
  }); // JSON is YAML
}

/**
 * Starts the program with embedded stores, and creates an API key. The caller must call `stop` of the result.
 * @param {{ cert: string, key: string }} [tls] certificate files, to listen with TLS
 */
export async function startGateway(name, backendUrl, tls) {
  const folder = path.join(temporaryFolder(), name);
  mkdirSync(folder);
  const config = path.join(folder, 'gateway.yaml');
  writeFileSync(config, configuration(backendUrl, tls));
  const token = randomBytes(24).toString('hex');
  const program = startProgram({
    name,
    command: process.execPath,
    // The arguments of the container image.
    args: [path.join(ROOT, 'dist/main.js'), 'start', '--config', config],
    core: GATEWAY_CORE,
    cwd: folder,
    env: {
      ...imageMemorySettings(),
      NODE_ENV: 'production',
      REDIS_URL: '',
      DATABASE_URL: '',
      TRAILGATE_DATA_DIR: path.join(folder, 'data'),
      TRAILGATE_ADMIN_TOKEN: token,
      LOG_LEVEL: 'warn',
    },
  });
  const urls = await untilReady(program, () => listening(program.log));
  const post = async (resource, body) => {
    const response = await fetch(`${urls.admin}/admin/v1/${resource}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201) throw new Error(`POST ${resource}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const { id } = await post('accounts', { name: 'Rafting', plan: 'bench' });
  const { secret } = await post(`accounts/${id}/api-keys`, { name: 'bench', scopes: ['*'] });
  return {
    port: Number(new URL(urls.gateway).port),
    secret,
    residentMegabytes: () => residentMegabytes(program.pid),
    privateMegabytes: () => privateMegabytes(program.pid),
    peakDuring: (work) => peakDuring(program.pid, work),
    stop: () => stopProgram(program),
  };
}

/** Node's own servers without any logic, to compare the memory of connections. */
const BARE = {
  plain: "require('node:http').createServer(options, (_, response) => response.end('{}'))",
  tls: "require('node:https').createServer(options, (_, response) => response.end('{}'))",
  http2: "require('node:http2').createSecureServer(options, (_, response) => response.end('{}'))",
};

/**
 * Starts one of Node's own servers in a separate process. The caller must call `stop` of the result.
 * @param {keyof BARE} way
 * @param {{ cert: string, key: string }} [tls] certificate files
 */
export async function startBare(way, tls) {
  const files = tls === undefined ? '' : `cert: read('${tls.cert}'), key: read('${tls.key}')`;
  const source =
    `const read = require('node:fs').readFileSync; const options = { keepAliveTimeout: 65000, ${files} };` +
    `const server = ${BARE[way]};` +
    "server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));";
  const program = startProgram({
    name: `bare-${way}`,
    command: process.execPath,
    args: ['-e', source],
    core: GATEWAY_CORE,
  });
  const port = await untilReady(
    program,
    () => Number(/port (\d+)/.exec(readFileSync(program.log, 'utf8'))?.[1]) || false,
  );
  return {
    port,
    secret: '',
    residentMegabytes: () => residentMegabytes(program.pid),
    privateMegabytes: () => privateMegabytes(program.pid),
    stop: () => stopProgram(program),
  };
}

/** Returns the URLs in the `listening` lines of a log by role; false until gateway and admin listen. */
function listening(log) {
  const urls = {};
  for (const [line] of readFileSync(log, 'utf8').matchAll(/^\{.*"event":"listening".*\}$/gm)) {
    const { role, url } = JSON.parse(line);
    urls[role] = url;
  }
  return urls.gateway !== undefined && urls.admin !== undefined && urls;
}

/**
 * Returns the resident memory (VmRSS) in MB of 10^6 bytes. `taskset` replaces itself with the program that it starts,
 * so `pid` is that of the program.
 */
function residentMegabytes(pid) {
  return (Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024) / 1e6;
}

/** Returns the memory that no other process shares, in MB. Pages of the Node binary, for example, can be shared. */
function privateMegabytes(pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce(
    (sum, [, size]) => sum + Number(size),
    0,
  );
  return (kilobytes * 1_024) / 1e6;
}

/** Samples the resident memory during `work`. Resolves to its maximum in MB, and the result of `work`. */
async function peakDuring(pid, work) {
  let most = residentMegabytes(pid);
  let done = false;
  const sampling = (async () => {
    while (!done) {
      most = Math.max(most, residentMegabytes(pid));
      await sleep(SAMPLE_INTERVAL_MS);
    }
  })();
  const result = await work();
  done = true;
  await sampling;
  return { most, result };
}
