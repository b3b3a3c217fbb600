/** Defines and starts the peers: the gateways with which Trailgate is compared. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { nginxArgs, nginxModulesPath, NGINX_TEMP_PATHS } from './nginx.mjs';
import { freePort, GATEWAY_CORE, startProgram, temporaryFolder, untilListening } from './processes.mjs';
import { startRedis, sumOfCounters } from './redis.mjs';

const FOLDER = path.join(import.meta.dirname, 'peers');

/**
 * Gateway is a running gateway.
 *
 * - `keyed`: refuses requests without a known key
 * - `scoped`: refuses keys without the scope
 * - `limits`: counts four windows, sends RateLimit fields, and refuses requests above the limits
 * - `counters`: reads the four counts of the first key of the load
 * - `monthTotal`: reads the sum of the month counts of all accounts of the load
 * - `lostRedis`: reports whether the gateway has continued without Redis since its log was truncated
 *
 * @typedef {{ id: string, title: string, keyed: boolean, scoped: boolean, limits: boolean, program: { pid: number },
 *   url: string, secrets: string[], secretsFile: string, unscoped?: string, tiny?: string, redis?: object,
 *   counters?: () => Promise<number[]>, monthTotal?: () => Promise<number>,
 *   lostRedis?: () => boolean }} Gateway
 */

const NOTHING = { keyed: false, scoped: false, limits: false };

/**
 * The peers, in the order in which they start. `start` takes `{ backend, keys }` and resolves to the fields of a
 * {@link Gateway} that the row lacks.
 */
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
 * Starts nginx with the Lua gateway, and a Redis for it. `stopAll` stops both.
 * @param {object} context `tls`: certificate of a second listener for HTTP/1.1 and HTTP/2, at `tlsUrl`
 * @param {string} client name of the Lua module that calls Redis
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

/** Returns a TLS listener with session resumption. It supports the TLS versions that Node supports by default. */
function tlsListener(port, { cert, key }) {
  return `listen 127.0.0.1:${port} ssl http2 backlog=4096; ssl_certificate ${cert}; ssl_certificate_key ${key};
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:tls:10m; http2_max_requests 1000000000; client_max_body_size 2m; client_body_buffer_size 128k;`;
}

/** Fills in the placeholders of a configuration template in the peers' folder, and starts the program with it. */
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

/** Returns the `start` function of a peer that is a Node program. `redis`: also starts a Redis for it. */
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
