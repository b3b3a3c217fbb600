/** The gateways that Trailgate is measured against: what each does, and how it starts. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { nginxArgs, nginxModulesPath, NGINX_TEMP_PATHS } from './nginx.mjs';
import { freePort, GATEWAY_CORE, startProgram, temporaryFolder, untilListening } from './processes.mjs';
import { startRedis, sumOfCounters } from './redis.mjs';

const FOLDER = path.join(import.meta.dirname, 'peers');

/**
 * What the bench knows of a gateway. `keyed`: refuses without a known key; `scoped`: refuses a key without the scope;
 * `limits`: counts four windows, sends their fields and refuses over them; `counters` reads what it has counted for the
 * first key of the load, `monthTotal` what all accounts of the load have used this month;
 * `lostRedis` whether it went on without Redis since its log was last emptied.
 * @typedef {{ id: string, title: string, keyed: boolean, scoped: boolean, limits: boolean, program: { pid: number },
 *   url: string, secrets: string[], secretsFile: string, unscoped?: string, tiny?: string, redis?: object,
 *   counters?: () => Promise<number[]>, monthTotal?: () => Promise<number>,
 *   lostRedis?: () => boolean }} Gateway
 */

const NOTHING = { keyed: false, scoped: false, limits: false };

/** In the order of the table. Each `start` takes `{ backend, keys }` and resolves to a {@link Gateway}. */
export const PEERS = [
  { id: 'nginx', title: 'nginx, plain `proxy_pass`', ...NOTHING, start: startNginx },
  { id: 'haproxy', title: 'HAProxy, plain', ...NOTHING, start: startHaproxy },
  {
    id: 'bare',
    title: 'bare `node:http` + undici `dispatch`, no policy',
    ...NOTHING,
    start: nodePeer('bare-undici.mjs'),
  },
  {
    id: 'nginx-lua',
    title: '**nginx + Lua by hand: key, scope, four windows in one Redis call, headers**',
    keyed: true,
    scoped: true,
    limits: true,
    start: (context) => startNginxLua(context, 'redis_each'),
  },
  {
    id: 'nginx-lua-gathered',
    title: 'nginx + Lua, the same job, requests gathered for Redis (as Trailgate does)',
    keyed: true,
    scoped: true,
    limits: true,
    start: (context) => startNginxLua(context, 'redis_gathered'),
  },
  {
    id: 'fastify',
    title: 'Fastify + `@fastify/http-proxy` + `@fastify/rate-limit` (one window) + bearer check',
    ...NOTHING,
    keyed: true,
    start: nodePeer('fastify.mjs', { redis: true }),
  },
  {
    id: 'nest',
    title: 'Nest + `@nestjs/throttler` with Redis storage (two windows) + `http-proxy`',
    ...NOTHING,
    keyed: true,
    start: nodePeer('nest.mjs', { redis: true }),
  },
];

function startNginx({ backend, keys }) {
  return startConfigured('nginx-plain.conf', nginxArgs, { '@BACKEND_PORT@': backend.port }, keys);
}

function startHaproxy({ backend, keys }) {
  const command = (file) => ({ command: 'haproxy', args: ['-db', '-f', file] });
  return startConfigured('haproxy.cfg', command, { '@BACKEND_PORT@': backend.port }, keys);
}

/**
 * @param {object} context `tls`: also listens with this certificate, HTTP/2 beside HTTP/1.1, at `tlsUrl`
 * @param {string} client the Lua file that asks Redis
 */
export async function startNginxLua({ backend, keys, tls }, client) {
  const redis = await startRedis(client);
  const tlsPort = tls && (await freePort());
  const values = {
    '@BACKEND_PORT@': backend.port,
    '@REDIS_PORT@': redis.port,
    '@KEYS@': keys.tableFile,
    '@REDIS_CLIENT@': client,
    '@TLS@': tls ? tlsListener(tlsPort, tls) : '',
  };
  const gateway = await startConfigured('nginx-lua.conf', nginxArgs, values, keys, client);
  const [, account, key] = readFileSync(keys.tableFile, 'utf8').split('\n')[0].split('\t');
  const windows = [
    `key:${key}:minute:*`,
    `account:${account}:minute:*`,
    `key:${key}:month:*`,
    `account:${account}:month:*`,
  ];
  return {
    ...gateway,
    ...(tls && { tlsUrl: `https://127.0.0.1:${tlsPort}` }),
    redis,
    counters: () => Promise.all(windows.map((pattern) => sumOfCounters(redis, pattern))),
    monthTotal: () => sumOfCounters(redis, 'account:*:month:*'),
  };
}

/** The same protocols and ciphers as Node's, and sessions that go on. */
function tlsListener(port, { cert, key }) {
  return `listen 127.0.0.1:${port} ssl http2 backlog=4096; ssl_certificate ${cert}; ssl_certificate_key ${key};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:tls:10m; http2_max_requests 1000000000; client_max_body_size 2m; client_body_buffer_size 128k;`;
}

/** Fills in a configuration file of the peers' folder and starts the program on it. */
async function startConfigured(template, command, values, keys, name = template) {
  const port = await freePort();
  const all = {
    ...values,
    '@PORT@': port,
    '@NAME@': name,
    '@TEMP_PATHS@': NGINX_TEMP_PATHS,
    '@PEERS@': FOLDER,
    '@MODULES@': nginxModulesPath(),
  };
  const file = path.join(temporaryFolder(), name);
  writeFileSync(
    file,
    readFileSync(path.join(FOLDER, template), 'utf8').replaceAll(/@[A-Z_]+@/g, (placeholder) =>
      String(all[placeholder]),
    ),
  );
  const program = startProgram({ name, ...command(file), core: GATEWAY_CORE });
  await untilListening(program, port);
  return { ...keys, program, url: `http://127.0.0.1:${port}` };
}

/** A peer that is one file for Node; with `redis` it gets one of its own. */
function nodePeer(file, { redis: needsRedis = false } = {}) {
  return async ({ backend, keys }) => {
    const redis = needsRedis ? await startRedis(file) : undefined;
    const port = await freePort();
    const program = startProgram({
      name: file,
      command: process.execPath,
      args: [path.join(FOLDER, file)],
      core: GATEWAY_CORE,
      env: {
        NODE_ENV: 'production',
        PORT: String(port),
        BACKEND_URL: backend.url,
        KEYS_FILE: keys.tableFile,
        ...(redis && { REDIS_URL: redis.url }),
      },
    });
    await untilListening(program, port);
    return { ...keys, program, url: `http://127.0.0.1:${port}`, redis };
  };
}
