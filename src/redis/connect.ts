/** Connections to Redis, with deadlines: a call that cannot be answered soon fails soon. */
import { Redis } from 'ioredis';

/** Longest that a decision waits for Redis. */
export const REDIS_DEADLINE_MS = 50;
/** Longest that any other call waits, and the client's own last resort. */
const COMMAND_TIMEOUT_MS = 250;

/** What the program needs from its logger here. */
export interface ConnectionLog {
  warn(fields: object, message: string): void;
}

/**
 * A connection for commands: fails at once while Redis is away, soon when it hangs, and comes back by itself. Nothing is queued while it is down and nothing is sent twice.
 */
export function connectRedis(url: string, name: string, log: ConnectionLog): Redis {
  return withErrorListener(
    new Redis(url, {
      connectionName: `trailgate-${name}`,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: COMMAND_TIMEOUT_MS,
      connectTimeout: 1_000,
      autoResendUnfulfilledCommands: false,
      retryStrategy: (attempt) => Math.min(attempt * 50, 500),
    }),
    name,
    log,
  );
}

/** A connection that listens: resubscribes by itself after every reconnection. */
export function connectSubscriber(url: string, log: ConnectionLog): Redis {
  return withErrorListener(
    new Redis(url, {
      connectionName: 'trailgate-subscriber',
      maxRetriesPerRequest: null,
      connectTimeout: 1_000,
      autoResubscribe: true,
      retryStrategy: (attempt) => Math.min(attempt * 50, 500),
    }),
    'subscriber',
    log,
  );
}

function withErrorListener(client: Redis, name: string, log: ConnectionLog): Redis {
  let silentUntil = 0;
  client.on('error', (error: Error) => {
    // One line every ten seconds: reconnection attempts come many times a second.
    const now = performance.now();
    if (now < silentUntil) return;
    silentUntil = now + 10_000;
    log.warn({ event: 'redis_error', connection: name, error: error.message }, 'Redis connection failed');
  });
  return client;
}

/** What waiting does not mend: a wrong user or password. */
const REFUSED_FOR_GOOD = /^(?:WRONGPASS|NOAUTH|NOPERM)\b/;

/** Waits until a connection answers, at most `timeoutMs`. Rejects with a one-line reason that names no password. */
export async function redisReady(client: Redis, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  let reason = 'no answer';
  // A call only says that there is no connection; the connection's own error says why.
  const noteWhy = (error: Error): void => void (reason = error.message);
  client.on('error', noteWhy);
  try {
    while (performance.now() < deadline && !REFUSED_FOR_GOOD.test(reason)) {
      try {
        await client.ping();
        return;
      } catch (error) {
        if (reason === 'no answer' && client.status === 'ready')
          reason = error instanceof Error ? error.message : String(error);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  } finally {
    client.off('error', noteWhy);
  }
  throw new Error(reason);
}
