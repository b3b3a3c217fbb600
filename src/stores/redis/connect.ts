/** Opens connections to Redis, with deadlines so that calls fail fast. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from './address.js';

/** Maximum time that a quota decision waits for Redis. */
export const REDIS_DEADLINE_MS = 50;
/** Maximum time that a start waits for a Redis that may be starting, too. */
export const REDIS_START_TIMEOUT_MS = 5_000;
/** Maximum time for all other calls, and the client's last resort. */
const COMMAND_TIMEOUT_MS = 250;
/** A connection is closed if a call is pending and no data arrives for this long, because the peer may be gone. */
const SILENT_CONNECTION_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_000;
/**
 * Interval for reloading the slot map of a Cluster. After a failover, nothing else tells where the slots of the failed
 * master are.
 */
const SLOTS_REFRESH_MS = 1_000;

/** Address of a Redis, or the socket path of this program's counting process. */
type ServerAddress = RedisAddress | { readonly mode: 'own'; readonly path: string };

function serverAddress(url: string): ServerAddress {
  return url.startsWith('/') ? { mode: 'own', path: url } : parseRedisUrl(url);
}

const COUNTING_PROCESS = 'The counting process';

/** Returns the name of the server behind a URL for log messages. */
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
  // The master has become a replica. Reconnecting asks the Sentinels for the new one.
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
 * Opens a connection for commands. Calls fail immediately while Redis is down, and soon if it hangs. The client
 * reconnects by itself, also to a new master. Calls are neither queued nor sent twice.
 * @param url REDIS_URL, or the path of the counting process's socket.
 * @param name suffix of the connection name.
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
 * Opens a connection for subscriptions, which resubscribes after every reconnect. In a Cluster, it connects to one node
 * at a time, in turn.
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
    // Not ioredis's failoverDetector: an event while a connection is being opened would end the client for good.
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
    // A call may have been executed when its connection breaks, so it is not sent again. After MOVED and ASK it has not
    // been executed.
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
  let silentUntil = 0;
  const listener = (error: Error): void => {
    // Log once in ten seconds, because reconnection attempts fail many times per second.
    const now = performance.now();
    if (now < silentUntil) return;
    silentUntil = now + 10_000;
    const fields = server === COUNTING_PROCESS ? { event: 'counting_connection_failed' } : { event: 'redis_error' };
    log.warn({ ...fields, connection: name, error: error.message }, `${server}: the connection failed`);
  };
  (client as Redis).on('error', listener);
  return client;
}

/** Errors that waiting does not fix: wrong user or password. */
const REFUSED_FOR_GOOD = /^(?:WRONGPASS|NOAUTH|NOPERM)\b/;

/** Reports whether an error of `redisReady` is one that waiting does not fix. */
export const isRefusedForGood = (error: unknown): boolean =>
  error instanceof Error && REFUSED_FOR_GOOD.test(error.message);

/** Waits until a connection responds, at most `timeoutMs`. Rejects with a one-line reason that contains no password. */
export async function redisReady(client: RedisClient, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let reason = 'no answer';
  // A failed call only reports that there is no connection. The connection's own error has the reason.
  const recordReason = (error: Error): void => void (reason = error.message);
  (client as Redis).on('error', recordReason);
  try {
    while (performance.now() < deadline && !REFUSED_FOR_GOOD.test(reason)) {
      try {
        await client.ping();
        // Ping every master, because the first call to one that is still connecting would fail.
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
