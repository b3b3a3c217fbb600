/** Opens listeners and logs their addresses. If a port is not available, the error explains why in one line. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { systemClock } from './clock.js';
import type { Log } from './log.js';
import { StartError } from './start-error.js';

export interface Where {
  readonly host: string;
  readonly port: number;
}

type ListeningRole = 'gateway' | 'admin' | 'health' | 'oauth';

/**
 * Starts to listen, and logs the address. Rejects with `StartError`.
 * @returns the local URL and the bound port
 */
export async function listen(
  application: NestFastifyApplication,
  role: ListeningRole,
  where: Where,
  log: Log,
  scheme = 'http',
): Promise<{ readonly url: string; readonly port: number }> {
  const listening = await listenQuietly(application, role, where, scheme, false);
  logListener(role, listening.url, log);
  return listening;
}

/**
 * Starts to listen without logging. Rejects with `StartError`.
 * @param shared whether other processes listen on the same port. With `SO_REUSEPORT`, each process has its own queue of
 * connections. If a process dies, the other processes lose no connections.
 */
export async function listenQuietly(
  application: NestFastifyApplication,
  role: ListeningRole,
  where: Where,
  scheme: string,
  shared: boolean,
): Promise<{ readonly url: string; readonly port: number }> {
  const { host, port } = where;
  await releasePort(role);
  await convertErrors(role, where, async () => {
    if (shared) await application.listen({ host, port, reusePort: true } as unknown as number);
    else await application.listen(port, host);
  });
  return boundAt(application.getHttpServer() as Server, host, scheme);
}

/** Runs `begin`, and converts its errors into `StartError`. */
async function convertErrors(role: ListeningRole, { host, port }: Where, begin: () => Promise<unknown>): Promise<void> {
  try {
    await begin();
  } catch (error) {
    throw new StartError(listenError(error, role, host, port));
  }
}

function boundAt(server: Server, host: string, scheme: string): { readonly url: string; readonly port: number } {
  const address = server.address() as { readonly port: number };
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  return { url: `${scheme}://${shown}:${address.port}`, port: address.port };
}

/**
 * Starts to listen with a plain server, without logging. Rejects with `StartError`.
 * @param shared as for `listenQuietly`
 */
export async function listenBare(
  server: Server,
  role: ListeningRole,
  where: Where,
  scheme: string,
  shared: boolean,
): Promise<{ readonly url: string; readonly port: number }> {
  const { host, port } = where;
  await releasePort(role);
  await convertErrors(role, where, () => {
    server.listen({ host, port, reusePort: shared });
    return once(server, 'listening');
  });
  return boundAt(server, host, scheme);
}

/**
 * Logs the address of a listener.
 * @param more further fields of the log line
 */
export function logListener(
  role: ListeningRole,
  url: string,
  log: Log,
  more: Readonly<Record<string, string>> = {},
): void {
  // The line is logged at any level, because people and scripts that start the program wait for it.
  const time = new Date(systemClock.now()).toISOString();
  log.write(`${JSON.stringify({ level: 'info', time, event: 'listening', role, url, ...more })}\n`);
}

/** Servers that each reserve the port of a listener until that listener starts. */
const claims = new Map<ListeningRole, Server>();

/**
 * Reserves the port of a listener until the listener starts or `releasePort` is called. Until then, resets all
 * connections to the port. Does nothing for port 0. Rejects with `StartError`, even if other processes share the port
 * with `SO_REUSEPORT`.
 */
export async function claimPort(role: ListeningRole, where: Where): Promise<void> {
  const { host, port } = where;
  if (port === 0) return;
  const server = createServer((socket) => socket.resetAndDestroy());
  await convertErrors(role, where, () => {
    server.listen({ host, port, exclusive: true });
    return once(server, 'listening');
  });
  server.unref();
  claims.set(role, server);
}

/** Ends the reservation of a port. Does nothing if the port is not reserved. */
export async function releasePort(role: ListeningRole): Promise<void> {
  const server = claims.get(role);
  claims.delete(role);
  if (server !== undefined) await new Promise((resolve) => server.close(resolve));
}

function listenError(error: unknown, role: ListeningRole, host: string, port: number): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const where = `${host}:${port}`;
  const setting =
    role === 'health' || role === 'oauth'
      ? `${role === 'health' ? 'admin.health' : 'mcp.oauth'}.port in gateway.yaml`
      : `${role}.port in gateway.yaml or TRAILGATE_${role.toUpperCase()}_PORT`;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use, so the ${role} cannot listen on ${where}. Stop what uses it, or set ${setting}.`;
  if (code === 'EACCES') return `The ${role} may not listen on ${where}. Ports below 1024 need rights; set ${setting}.`;
  return `The ${role} cannot listen on ${where}: ${message}`;
}

/** Returns the port of a URL that `listen` has returned. A URL without a port has the default port of its scheme. */
export function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
