/** Connections to Redis, with deadlines: a call that cannot be answered soon fails soon. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from './address.js';

/** Longest that a decision waits for Redis. */
export const REDIS_DEADLINE_MS = 50;
/** Longest that a start waits for a Redis that may be starting, too. */
export const REDIS_START_TIMEOUT_MS = 5_000;
/** Longest that any other call waits, and the client's own last resort. */
const COMMAND_TIMEOUT_MS = 250;
/**
 * A connection on which a call waits and nothing arrives for this long is given up: its
 * other end may be gone without a word.
 */
const SILENT_CONNECTION_MS = 2_000;
const CONNECT_TIMEOUT_MS = 1_000;
/** How often the map of a Cluster is read anew: after a failover nothing else says where a dead master's slots are. */
const SLOTS_REFRESH_MS = 1_000;

/** A Redis, or the counting process of this program, which is known by the path of its socket. */
type Place = RedisAddress | { readonly mode: 'own'; readonly path: string };

function placeOf(url: string): Place {
  return url.startsWith('/') ? { mode: 'own', path: url } : parseRedisUrl(url);
}

const COUNTING = 'The counting process';

/** What the server behind a URL is called in a log. */
export function storeName(url: string): string {
  return placeOf(url).mode === 'own' ? COUNTING : 'Redis';
}

/** A connection for commands. */
export type RedisClient = Redis | Cluster;

type Options = Omit<RedisOptions, 'replyMapping'>;

/** What the program needs from its logger here. */
export interface ConnectionLog {
  warn(fields: object, message: string): void;
}

const RECONNECT: Options = {
  connectTimeout: CONNECT_TIMEOUT_MS,
  retryStrategy: (attempt) => Math.min(attempt * 50, 500),
  // A master that became a replica: the Sentinels know another one.
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
 * A connection for commands: fails at once while Redis is away, soon when it hangs, and comes back by itself, to
 * another master where one took over. Nothing is queued while it is down and nothing is sent twice.
 * @param url REDIS_URL, or the path of the counting process's socket.
 */
export function connectRedis(url: string, name: string, log: ConnectionLog): RedisClient {
  const address = placeOf(url);
  const connectionName = `trailgate-${name}`;
  const client =
    address.mode === 'cluster'
      ? connectCluster(address, connectionName)
      : connectOne(address, { ...RECONNECT, ...COMMANDS, connectionName });
  return withErrorListener(client, name, storeName(url), log);
}

/**
 * A connection that listens: resubscribes by itself after every reconnection. In a
 * Cluster: to one of the nodes, in turn.
 */
export function connectSubscriber(url: string, log: ConnectionLog): Redis {
  const address = placeOf(url);
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
type OneServer = Exclude<Place, { mode: 'cluster' }>;

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
    // Not ioredis's failoverDetector: what it hears while a connection is being made ends the client for good.
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
    // A call may have run when its connection breaks: nothing is sent twice by itself.
    // MOVED and ASK say that it has not run.
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
    // One line every ten seconds: reconnection attempts come many times a second.
    const now = performance.now();
    if (now < silentUntil) return;
    silentUntil = now + 10_000;
    const fields = server === COUNTING ? { event: 'counting_connection_failed' } : { event: 'redis_error' };
    log.warn({ ...fields, connection: name, error: error.message }, `${server}: the connection failed`);
  };
  (client as Redis).on('error', listener);
  return client;
}

/** What waiting does not mend: a wrong user or password. */
const REFUSED_FOR_GOOD = /^(?:WRONGPASS|NOAUTH|NOPERM)\b/;

/** Waits until a connection answers, at most `timeoutMs`. Rejects with a one-line reason that names no password. */
export async function redisReady(client: RedisClient, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let reason = 'no answer';
  // A call only says that there is no connection; the connection's own error says why.
  const noteWhy = (error: Error): void => void (reason = error.message);
  (client as Redis).on('error', noteWhy);
  try {
    while (performance.now() < deadline && !REFUSED_FOR_GOOD.test(reason)) {
      try {
        await client.ping();
        // Every master: the first call to one that is being connected to would fail.
        if (client.isCluster) await Promise.all((client as Cluster).nodes('master').map((node) => node.ping()));
        return;
      } catch (error) {
        if (reason === 'no answer' && client.status === 'ready')
          reason = error instanceof Error ? error.message : String(error);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  } finally {
    (client as Redis).off('error', noteWhy);
  }
  throw new Error(reason);
}
