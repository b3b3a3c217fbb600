/** Opens the listeners for the admin API and panel, and for health and metrics, on one port or two. */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createAdminApplication, createHealthApplication } from '../admin/admin.application.js';
import type { AdminDependencies } from '../admin/request/admin-dependencies.js';
import { adminUrlOf } from '../config/model/admin-url.js';
import type { RunningConfig } from '../config/running-config.js';
import { logListener, listen, listenQuietly } from '../platform/listen.js';
import type { Log } from '../platform/log.js';
import { ServerEnd } from '../platform/server-end.js';
import type { Shutdown } from '../platform/shutdown.js';

/** AdminParts are the dependencies of the admin application, without the listener settings. */
export type AdminParts = Omit<AdminDependencies, 'url' | 'settings' | 'configPath'>;

/**
 * Opens the listeners and logs their addresses. Without the admin role, `admin.port` serves only health and metrics. If
 * `admin.health` is set, such a process opens only the health listener and leaves `admin.port` closed.
 * @returns the local URL of the admin listener, or undefined if there is none. Rejects with `StartError` if a port
 * cannot be opened.
 */
export async function openAdminListeners(
  parts: AdminParts,
  config: RunningConfig,
  log: Log,
  shutdown: Shutdown,
): Promise<string | undefined> {
  const settings = () => config.current.file.admin;
  const { port, host, tls, health } = settings();
  let boundPort = port;
  const deps: AdminDependencies = {
    ...parts,
    settings,
    configPath: config.current.path,
    url: () => adminUrlOf(settings(), boundPort),
  };
  if (health !== undefined) {
    const application = await createHealthApplication(deps);
    shutdown.add('close health', closeOf(application));
    await listen(application, 'health', health, log);
    if (parts.api === null) return undefined;
  }
  const application = await createAdminApplication(deps);
  shutdown.add('close admin', closeOf(application));
  const scheme = tls === undefined ? 'http' : 'https';
  const bound = await listenQuietly(application, 'admin', { host, port }, scheme, false);
  boundPort = bound.port;
  // The panel URL may differ from the bound address, because passkeys are bound to a host name.
  logListener('admin', bound.url, log, parts.api === null ? {} : { panel: deps.url() });
  return bound.url;
}

function closeOf(application: NestFastifyApplication): () => Promise<void> {
  const serverEnd = new ServerEnd(application.getHttpServer());
  return () => serverEnd.closeServer(() => application.close());
}
