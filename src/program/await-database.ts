/**
 * Delays the start until the database is reachable. Meanwhile, a temporary listener returns 200 for `/livez` and 503
 * for all other paths, unless the admin listener uses TLS.
 */
import { createServer, type Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { GatewayFile } from '../config/model/schema.js';
import { claimPort, listenBare, type Where } from '../platform/listen.js';
import type { Log } from '../platform/log.js';
import { ShutdownBegun, type Shutdown } from '../platform/shutdown.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { DatabaseOpenError } from '../stores/database/database-errors.js';

const RETRY_MS = 500;
const LOG_INTERVAL_MS = 30_000;

const ALIVE = JSON.stringify({ status: 'alive' });
const NOT_READY = JSON.stringify({
  status: 'not_ready',
  checks: {
    process: { status: 'fail', detail: 'starting' },
    database: { status: 'fail', detail: 'cannot be reached: the start waits for it' },
  },
});

/**
 * Opens the database. Retries while the database is unavailable, without a time limit.
 * @param open see `openDatabase`
 * @param admin settings of the listener that answers probes; undefined in a worker process, which answers no probes
 * @returns the open database. Rejects with the error of `open` if a retry cannot help. Rejects with `ShutdownBegun` if
 * the shutdown begins, and with `StartError` if the port for probes cannot be opened.
 */
export async function awaitDatabase(
  open: () => Promise<DatabaseHandle>,
  admin: GatewayFile['admin'] | undefined,
  log: Log,
  shutdown: Shutdown,
): Promise<DatabaseHandle> {
  let probes: ProbeListener | undefined;
  let nextLogMs = 0;
  try {
    for (;;) {
      try {
        return await open();
      } catch (error) {
        if (!(error instanceof DatabaseOpenError) || !error.isTransient) throw error;
        if (performance.now() >= nextLogMs) {
          nextLogMs = performance.now() + LOG_INTERVAL_MS;
          log.logger.error({ event: 'database_awaited', cause: error.message }, 'The start waits for the database');
        }
      }
      // This temporary listener has no TLS. Probes of an admin listener with TLS get no response during the wait.
      if (admin !== undefined && (admin.health !== undefined || admin.tls === undefined)) {
        probes ??= await answerProbes(admin);
      }
      await delay(RETRY_MS);
      if (shutdown.hasBegun) throw new ShutdownBegun();
    }
  } finally {
    await probes?.stop();
  }
}

interface ProbeListener {
  /** Closes the listener and reserves its port again. */
  stop(): Promise<void>;
}

async function answerProbes({ health, ...admin }: GatewayFile['admin']): Promise<ProbeListener> {
  const [role, where]: ['health' | 'admin', Where] = health === undefined ? ['admin', admin] : ['health', health];
  const server: Server = createServer(({ url }, response) => {
    const isAlive = url === '/livez';
    response.writeHead(isAlive ? 200 : 503, { 'content-type': 'application/json' });
    response.end(isAlive ? ALIVE : NOT_READY);
  });
  await listenBare(server, role, where, 'http', false);
  return {
    stop: async () => {
      await new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      });
      await claimPort(role, where);
    },
  };
}
