/** The built program with room for many connections, and what its process holds. */
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

/** Starts it on embedded stores, with one key. @param {{ cert: string, key: string }} [tls] files of a certificate */
export async function startHolder(name, backendUrl, tls) {
  const folder = path.join(temporaryFolder(), name);
  mkdirSync(folder);
  const config = path.join(folder, 'gateway.yaml');
  writeFileSync(config, configuration(backendUrl, tls));
  const token = randomBytes(24).toString('hex');
  const program = startProgram({
    name,
    command: process.execPath,
    // As the image starts it.
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
    ownMegabytes: () => ownMegabytes(program.pid),
    mostWhile: (work) => mostWhile(program.pid, work),
    stop: () => stopProgram(program),
  };
}

/** What a connection costs before anybody does anything with it: Node's own servers with nothing in them. */
const BARE = {
  plain: "require('node:http').createServer(options, (_, response) => response.end('{}'))",
  tls: "require('node:https').createServer(options, (_, response) => response.end('{}'))",
  http2: "require('node:http2').createSecureServer(options, (_, response) => response.end('{}'))",
};

/** @param {keyof BARE} way @param {{ cert: string, key: string }} [tls] files of a certificate */
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
    ownMegabytes: () => ownMegabytes(program.pid),
    stop: () => stopProgram(program),
  };
}

function listening(log) {
  const urls = {};
  for (const [line] of readFileSync(log, 'utf8').matchAll(/^\{.*"event":"listening".*\}$/gm)) {
    const { role, url } = JSON.parse(line);
    urls[role] = url;
  }
  return urls.gateway !== undefined && urls.admin !== undefined && urls;
}

/** VmRSS in MB of 10^6 bytes. `taskset` becomes the program that it starts, so the id is the gateway's. */
function residentMegabytes(pid) {
  return (Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024) / 1e6;
}

/** Of that what no other process shares: without the pages of the Node binary, for the most part. */
function ownMegabytes(pid) {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const kilobytes = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm)].reduce(
    (sum, [, size]) => sum + Number(size),
    0,
  );
  return (kilobytes * 1_024) / 1e6;
}

/** The most that it held while `work` was done. */
async function mostWhile(pid, work) {
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
