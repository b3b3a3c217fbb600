/** Opens a listener and says where it is; a port that cannot be had becomes one line that says what to do. */
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

/** Makes an application listen, and announces it. Rejects with `StartError`. */
export async function listen(
  application: NestFastifyApplication,
  role: ListeningRole,
  where: Where,
  log: Log,
  scheme = 'http',
): Promise<{ readonly url: string; readonly port: number }> {
  const listening = await listenQuietly(application, role, where, scheme, false);
  announce(role, listening.url, log);
  return listening;
}

/**
 * Makes an application listen without a word.
 * @param shared other processes listen on the same port, each with a queue of its own that the kernel fills
 *   (`SO_REUSEPORT`): one that dies takes no connection of the others with it.
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
  await orSayWhy(role, where, async () => {
    if (shared) await application.listen({ host, port, reusePort: true } as unknown as number);
    else await application.listen(port, host);
  });
  return boundAt(application.getHttpServer() as Server, host, scheme);
}

/** Rejects with `StartError` where listening does not work. */
async function orSayWhy(role: ListeningRole, { host, port }: Where, begin: () => Promise<unknown>): Promise<void> {
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

/** Makes a bare server listen, without a word. Rejects with `StartError`. @param shared as for `listenQuietly`. */
export async function listenBare(
  server: Server,
  role: ListeningRole,
  where: Where,
  scheme: string,
  shared: boolean,
): Promise<{ readonly url: string; readonly port: number }> {
  const { host, port } = where;
  await releasePort(role);
  await orSayWhy(role, where, () => {
    server.listen({ host, port, reusePort: shared });
    return once(server, 'listening');
  });
  return boundAt(server, host, scheme);
}

/** Says where a role listens, and what else there is to know of that. */
export function announce(
  role: ListeningRole,
  url: string,
  log: Log,
  more: Readonly<Record<string, string>> = {},
): void {
  // Whatever the level: whoever started the program waits for this line.
  const time = new Date(systemClock.now()).toISOString();
  log.write(`${JSON.stringify({ level: 'info', time, event: 'listening', role, url, ...more })}\n`);
}

/** Servers that hold a port until its role listens there. */
const claims = new Map<ListeningRole, Server>();

/**
 * Takes the port of a role until that role listens there or `releasePort` gives it back, and closes connections that
 * come meanwhile. Rejects with `StartError`, also where others share the port with `SO_REUSEPORT`. Any free port is
 * taken only when the role listens.
 */
export async function claimPort(role: ListeningRole, where: Where): Promise<void> {
  const { host, port } = where;
  if (port === 0) return;
  const server = createServer((socket) => socket.resetAndDestroy());
  await orSayWhy(role, where, () => {
    server.listen({ host, port, exclusive: true });
    return once(server, 'listening');
  });
  server.unref();
  claims.set(role, server);
}

/** Gives a claimed port back. */
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

/** The port of an origin as `listen` gives it. */
export function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}
