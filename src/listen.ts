/** Opens a listener and says where it is; a port that cannot be had becomes one line that says what to do. */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { systemClock } from './clock.js';
import type { Log } from './log.js';
import { StartError } from './start-error.js';

/** Makes an application listen, and announces it. Rejects with `StartError`. */
export async function listen(
  application: NestFastifyApplication,
  role: 'gateway' | 'admin',
  { host, port }: { readonly host: string; readonly port: number },
  log: Log,
  scheme = 'http',
): Promise<{ readonly url: string; readonly port: number }> {
  try {
    await application.listen(port, host);
  } catch (error) {
    throw new StartError(listenError(error, role, host, port));
  }
  const address = application.getHttpServer().address() as { readonly port: number };
  const shown = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  const url = `${scheme}://${shown}:${address.port}`;
  // Whatever the level: whoever started the program waits for this line.
  const time = new Date(systemClock.now()).toISOString();
  log.write(`${JSON.stringify({ level: 'info', time, event: 'listening', role, url })}\n`);
  return { url, port: address.port };
}

function listenError(error: unknown, role: 'gateway' | 'admin', host: string, port: number): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const where = `${host}:${port}`;
  const setting = `${role}.port in gateway.yaml or TRAILGATE_${role.toUpperCase()}_PORT`;
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use, so the ${role} cannot listen on ${where}. Stop what uses it, or set ${setting}.`;
  if (code === 'EACCES') return `The ${role} may not listen on ${where}. Ports below 1024 need rights; set ${setting}.`;
  return `The ${role} cannot listen on ${where}: ${message}`;
}
