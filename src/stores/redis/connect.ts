/** Opens connections to Redis, or to the counting process that replaces it. Deadlines make calls fail fast. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from './address.js';

/** Maximum time that a quota decision waits for Redis. */
export const REDIS_DEADLINE_MS = 50;
/** Maximum time that a start waits for a Redis that may still be starting. */
export const REDIS_START_TIMEOUT_MS = 5_000;
/** Maximum time for a call that is not a quota decision. */
const COMMAND_TIMEOUT_MS = 250;
/**
 * Time without received data after which a connection with a pending call is closed. The server may no longer exist.
 */
const SILENT_CONNECTION_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_000;
/**
 * Interval for reloading the slot map of a Cluster. After a failover, only the reloaded map shows where the slots of
 * the failed master are.
 */
const SLOTS_REFRESH_MS = 1_000;

/** ServerAddress is the address of a Redis installation, or the socket path of this program's counting process. */
type ServerAddress = RedisAddress | { readonly mode: 'own'; readonly path: string };

function serverAddress(url: string): ServerAddress {
  return url.startsWith('/') ? { mode: 'own', path: url } : parseRedisUrl(url);
}

const COUNTING_PROCESS = 'The counting process';

/** Returns the name of the server at a URL, for log messages. */
export function storeName(url: string): string {
  return serverAddress(url).mode === 'own' ? COUNTING_PROCESS : 'Redis';
}

export type RedisClient = Redis | Cluster;

type Options = Omit<RedisOptions, 'replyMapping'>;

export interface ConnectionLog {
  warn(fields: object, message: string): void;
}

const RECONNECT: Options = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: (attempt) => Math.min(attempt * 50, 500),
  // The error means that the master has become a replica. A reconnect gets the new master from the Sentinels.
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
};

const COMMANDS: Options = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 1,
  commandTimeout: COMMAND_TIMEOUT_MS,
  socketTimeout: SILENT_CONNECTION_MS,
  autoResendUnfulfilledCommands: false,
};

/**
 * Opens a connection for commands. Calls fail immediately while Redis is down, and after the command timeout if Redis
 * hangs. The client reconnects automatically, also to a new master. Calls are neither queued nor sent twice.
 * @param url REDIS_URL, or the path of the counting process's socket
 * @param name suffix of the connection name, which Redis lists
 */
export function connectRedis(url: string, name: string, log: ConnectionLog): RedisClient {
  const address = serverAddress(url);
  const connectionName = `trailgate-${name}`;
  const client =
    address.mode === 'cluster'
      ? connectCluster(address, connectionName)
      : connectOne(address, { ...RECONNECT, ...COMMANDS, connectionName });
  return withErrorListener(client, name, storeName(url), log);
}

/**
 * Opens a connection for subscriptions, which resubscribes after every reconnect. In a Cluster, the client connects to
 * one node at a time. Each reconnect uses the next node.
 */
export function connectSubscriber(url: string, log: ConnectionLog): Redis {
  const address = serverAddress(url);
  const options: Options = {
    ...RECONNECT,
    connectionName: 'trailgate-subscriber',
    maxRetriesPerRequest: null,
    autoResubscribe: true,
  };
  const client = address.mode === 'cluster' ? connectInTurn(address, options) : connectOne(address, options);
  return withErrorListener(client, 'subscriber', storeName(url), log);
}

type SeveralHosts = Exclude<RedisAddress, { mode: 'standalone' }>;
type OneServer = Exclude<ServerAddress, { mode: 'cluster' }>;

function credentialsOf({ username, password, tls }: SeveralHosts): Options {
  return {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: {} } : {}),
  };
}

function connectOne(address: OneServer, options: Options): Redis {
  if (address.mode === 'own') return new Redis({ ...options, path: address.path });
  if (address.mode === 'standalone') return new Redis(address.url, options);
  const { hosts, masterName, db, tls, sentinelPassword } = address;
  return new Redis({
    ...options,
    ...credentialsOf(address),
    sentinels: hosts.map(({ host, port }) => ({ host, port })),
    name: masterName,
    role: 'master',
    db,
    // ioredis's `failoverDetector` is not used. If it detected a failover while a connection is being opened, the
    // client would end permanently.
    sentinelRetryStrategy: (attempt) => Math.min(attempt * 50, 500),
    sentinelCommandTimeout: CONNECT_TIMEOUT_MS,
    enableTLSForSentinelMode: tls,
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls ? { sentinelTLS: {} } : {}),
  });
}

function connectCluster(address: SeveralHosts, connectionName: string): Cluster {
  return new Cluster([...address.hosts], {
    enableOfflineQueue: false,
    scaleReads: 'master',
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
    clusterRetryStrategy: (attempt) => Math.min(attempt * 50, 500),
    // A call is not sent again when its connection breaks, because it may have been executed. After MOVED and ASK, the
    // call has not been executed.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    redisOptions: { ...COMMANDS, ...credentialsOf(address), connectTimeout: CONNECT_TIMEOUT_MS, connectionName },
  });
}

function connectInTurn(address: SeveralHosts, options: Options): Redis {
  const { hosts } = address;
  const client: Redis = new Redis({
    ...options,
    ...credentialsOf(address),
    ...hosts[0],
    retryStrategy: (attempt) => {
      Object.assign(client.options, hosts[attempt % hosts.length]);
      return Math.min(attempt * 50, 500);
    },
  });
  return client;
}

function withErrorListener<Client extends RedisClient>(
  client: Client,
  name: string,
  server: string,
  log: ConnectionLog,
): Client {
  let nextLogMs = 0;
  const listener = (error: Error): void => {
    // Errors are logged once in ten seconds, because reconnection attempts fail many times per second.
    const now = performance.now();
    if (now < nextLogMs) return;
    nextLogMs = now + 10_000;
    const fields = server === COUNTING_PROCESS ? { event: 'counting_connection_failed' } : { event: 'redis_error' };
    log.warn({ ...fields, connection: name, error: error.message }, `${server}: the connection failed`);
  };
  (client as Redis).on('error', listener);
  return client;
}

/** Matches errors of a wrong user or password, which waiting does not fix. */
const REFUSED_FOR_GOOD = /^(?:WRONGPASS|NOAUTH|NOPERM)\b/;

/** Reports whether waiting cannot fix an error of `redisReady`. */
export const isRefusedForGood = (error: unknown): boolean =>
  error instanceof Error && REFUSED_FOR_GOOD.test(error.message);

/**
 * Waits until the server responds on a connection, at most `timeoutMs`. Rejects with a one-line reason that contains no
 * password.
 */
export async function redisReady(client: RedisClient, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let reason = 'no answer';
  // A failed call only reports that there is no connection. The error of the connection itself has the reason.
  const recordReason = (error: Error): void => void (reason = error.message);
  (client as Redis).on('error', recordReason);
  try {
    while (performance.now() < deadline && !REFUSED_FOR_GOOD.test(reason)) {
      try {
        await client.ping();
        // Each master gets a ping, because the first call to a master that is still connecting would fail.
        if (client.isCluster) await Promise.all((client as Cluster).nodes('master').map((node) => node.ping()));
        return;
      } catch (error) {
        if (reason === 'no answer' && client.status === 'ready')
          reason = error instanceof Error ? error.message : String(error);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  } finally {
    (client as Redis).off('error', recordReason);
  }
  throw new Error(reason);
}
