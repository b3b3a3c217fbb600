/** A real redis-server for tests: on a free loopback port, in a temporary folder, stopped by its pid. */
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { eventually, freePort, spawnOwned, temporaryFolder, type OwnedProcess } from './processes.js';
import { findRedisServer } from './servers.js';

export interface RedisOptions {
  readonly port?: number;
  /** Keep an append-only file, so that a restart finds the data again. */
  readonly appendonly?: boolean;
  readonly extraArgs?: readonly string[];
  /** Take a port whose cluster bus port (10,000 above) exists. */
  readonly clusterable?: boolean;
  /** Run as a Sentinel, from this file. */
  readonly sentinelFile?: string;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Process ID of the running server; changes with `restart`. */
  readonly pid: number;
  /** Ends it and removes its folder. Harmless when it has ended already. */
  stop(): Promise<void>;
  /** Kills it in the middle of whatever it does; its folder stays for `restart`. */
  kill9(): Promise<void>;
  /** Freezes it: connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same port and folder; ends it first (SIGTERM) where it still runs. */
  restart(): Promise<void>;
}

/** Sends PING; false where nothing listens or something else than PONG comes back. */
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

/** Two for each worker. */
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
  // Another process can have taken the port in between, and have answered the ping.
  if (!server.isRunning()) throw new Error(`redis-server ended at once:\n${output}`);
  return server;
}

/** Starts a server and waits until it answers. The caller stops it. */
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
 * URL of the Redis that all test files share; each Jest worker has a database number of its own, so FLUSHDB is safe.
 * `npm test` starts it; where Jest is run by hand, the first call starts one that ends with this process.
 */
export function sharedRedisUrl(): Promise<string> {
  return workerRedisUrl(0);
}

/** Like `sharedRedisUrl`, with another database number: for programs that go on while other tests use that one. */
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
