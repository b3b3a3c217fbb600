/**
 * Starts the customers backend. The process ends on SIGTERM, on SIGINT, or when a parent process with an IPC channel
 * ends. A failed start exits with status 1.
 */
import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { destination, pino } from 'pino';
import { createApplication } from './application.js';
import { systemClock } from './model/clock.js';
import type { CustomersConfig } from './model/config.js';
import { readConfig, StartError } from './model/config.js';
import type { Database } from './database/connection.js';
import { openDatabase } from './database/connection.js';
import { EventPoster } from './events/event-poster.js';
import { Outbox } from './events/outbox.js';
import { prepareDatabase } from './prepare.js';

const SHUTDOWN_TIMEOUT_MS = 10_000;

// Create files that only this user can read, because the database contains personal data.
process.umask(0o077);

try {
  await start(readConfig());
} catch (error) {
  const reason =
    error instanceof StartError
      ? error.message
      : error instanceof Error
        ? (error.stack ?? error.message)
        : String(error);
  process.stderr.write(`customers: ${reason}\n`);
  process.exit(1);
}

async function start(config: CustomersConfig): Promise<void> {
  // Standard output contains only the line with the listening address, so logs use standard error.
  const log = pino({ level: config.logLevel, base: { service: 'customers' } }, destination({ dest: 2, sync: true }));
  const database = openDatabase(config.dataDir);
  const { cursorSecret, seeded } = await prepareDatabase(database, config.seedAccounts, systemClock);
  for (const [accountId, customers] of seeded) log.debug({ account_id: accountId, customers }, 'Seeded an account.');
  const outbox = config.events === undefined ? undefined : new Outbox(database, systemClock);
  const application = await createApplication({ database, cursorSecret, clock: systemClock, log, outbox });
  const url = await listen(application, config);
  const poster =
    outbox === undefined || config.events === undefined ? undefined : new EventPoster(outbox, config.events, log);
  endWithSignals(application, database, log, poster);
  process.stdout.write(`${JSON.stringify({ event: 'listening', url })}\n`);
}

/**
 * Starts to listen for requests. Returns the origin with the bound port.
 * @throws StartError that names the setting to change
 */
async function listen(application: NestFastifyApplication, config: CustomersConfig): Promise<string> {
  try {
    await application.listen(config.port, config.host);
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
    if (code === 'EADDRINUSE') {
      throw new StartError(
        `port ${config.port} on ${config.host} is in use. Stop the program that uses it, or set ` +
          'TRAILGATE_CUSTOMERS_PORT to a free port.',
      );
    }
    throw new StartError(
      `cannot listen on ${config.host}:${config.port} (${code ?? cause}). Set TRAILGATE_CUSTOMERS_HOST to an ` +
        'address of this machine and TRAILGATE_CUSTOMERS_PORT to a port that this user may open.',
    );
  }
  const { address, family, port } = application.getHttpServer().address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/**
 * Shuts down on a signal, or when the parent process disconnects. If the shutdown fails or takes longer than
 * `SHUTDOWN_TIMEOUT_MS`, the process exits with status 1.
 */
function endWithSignals(
  application: NestFastifyApplication,
  database: Database,
  log: Logger,
  poster: EventPoster | undefined,
): void {
  let isEnding = false;
  const end = async (): Promise<void> => {
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), SHUTDOWN_TIMEOUT_MS).unref();
    try {
      await application.close();
      await poster?.close();
      await database.tables.destroy();
      process.exit(0);
    } catch (error) {
      log.error({ err: error }, 'Shutting down failed.');
      process.exit(1);
    }
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end());
  // A child process with an IPC channel detects that its parent has ended, even after SIGKILL.
  if (process.send !== undefined) process.on('disconnect', () => void end());
}
