/** Starts real redis-servers for tests, on free loopback ports and in temporary folders. */
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { eventually, freePort, spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';
import { findRedisServer } from './servers.js';

export interface RedisOptions {
  readonly port?: number;
  /** Keeps an append-only file, so that data survives a restart. */
  readonly appendonly?: boolean;
  readonly extraArgs?: readonly string[];
  /** Chooses a port low enough for the cluster bus port, which is 10,000 higher. */
  readonly clusterable?: boolean;
  /** Runs as a Sentinel with this configuration file. */
  readonly sentinelFile?: string;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Process ID of the server. Changes with `restart`. */
  readonly pid: number;
  /** Stops the server and removes its folder. Safe to call if the server has already ended. */
  stop(): Promise<void>;
  /** Kills the server. Its folder stays for `restart`. */
  kill9(): Promise<void>;
  /** Freezes the server (SIGSTOP). Connections stay open, and nothing answers. */
  pause(): void;
  resume(): void;
  /** Starts the server again on the same port and folder. Stops it first (SIGTERM) if it is running. */
  restart(): Promise<void>;
}

/** Sends PING. Resolves to false if nothing listens, or the response is not PONG. */
function ping(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(500, () => settle(false));
    socket.once('data', (chunk) => settle(chunk.toString().startsWith('+PONG')));
    socket.once('error', () => settle(false));
  });
}

/** Number of databases. Each Jest worker uses two. */
const DATABASES = 128;

async function launch(port: number, folder: string, options: RedisOptions): Promise<OwnedProcess> {
  const binary = findRedisServer();
  if (binary === null) throw new Error('redis-server is not on PATH');
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: options.appendonly === true ? 'yes' : 'no',
    appendfsync: 'everysec',
    databases: DATABASES,
    'maxmemory-policy': 'noeviction',
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const server = spawnOwned(
    binary,
    options.sentinelFile === undefined
      ? [...args, ...(options.extraArgs ?? [])]
      : [options.sentinelFile, '--sentinel', '--port', String(port), '--bind', '127.0.0.1'],
  );
  let output = '';
  for (const stream of [server.child.stdout, server.child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  await eventually(`redis-server answers on port ${port}`, async () => {
    if (!server.isRunning()) throw new Error(`redis-server ended at once:\n${output}`);
    return ping(port);
  });
  // Another process may have taken the port meanwhile, and have answered the PING.
  if (!server.isRunning()) throw new Error(`redis-server ended at once:\n${output}`);
  return server;
}

/** Starts a server and waits until it answers. The caller must stop it. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const folder = temporaryFolder('redis');
  let port = options.port ?? (await freePort());
  while (options.clusterable === true && port > 55_000) port = await freePort();
  let server: OwnedProcess | undefined;
  for (let attempt = 1; server === undefined; attempt += 1) {
    try {
      server = await launch(port, folder, options);
    } catch (error) {
      const portIsTaken = String(error).includes('in use');
      if (!portIsTaken || options.port !== undefined || attempt === 5) throw error;
      port = await freePort();
    }
  }
  let running = server;
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return running.pid;
    },
    async stop() {
      if (running.isRunning()) running.child.kill('SIGCONT'); // a paused process does not see SIGTERM
      await running.end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
    async kill9() {
      await running.end('SIGKILL');
    },
    pause: () => void running.child.kill('SIGSTOP'),
    resume: () => void running.child.kill('SIGCONT'),
    async restart() {
      if (running.isRunning()) await running.end('SIGTERM');
      running = await launch(port, folder, options);
    },
  };
}

let ownShared: Promise<RedisServer> | undefined;

/**
 * Returns the URL of the Redis that all test files share. Each Jest worker has its own database number, so FLUSHDB is
 * safe. `npm test` starts this Redis. Without it, the first call starts one that ends with this process.
 */
export function sharedRedisUrl(): Promise<string> {
  return workerRedisUrl(0);
}

/** Like `sharedRedisUrl`, with a second database number. For programs that keep running while other tests run. */
export function keptRedisUrl(): Promise<string> {
  return workerRedisUrl(DATABASES / 2);
}

async function workerRedisUrl(offset: number): Promise<string> {
  const given = process.env['TEST_REDIS_URL'] ?? process.env['REDIS_URL'];
  ownShared ??= given === undefined ? startRedis() : undefined;
  const url = new URL(given ?? (await ownShared)?.url ?? '');
  const number = Number(process.env['JEST_WORKER_ID'] ?? '1') + offset;
  if (url.pathname === '' || url.pathname === '/') url.pathname = `/${number}`;
  return url.href;
}
