/** The listeners for operators and members, and for probes and scrapes: on one port, or on two. */
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createAdminApplication, createHealthApplication } from '../admin/admin.application.js';
import type { AdminDependencies } from '../admin/request/admin-dependencies.js';
import { adminUrlOf } from '../config/model/admin-url.js';
import type { RunningConfig } from '../config/running-config.js';
import { announce, listen, listenQuietly } from '../platform/listen.js';
import type { Log } from '../platform/log.js';
import { ServerEnd } from '../platform/server-end.js';
import type { Shutdown } from '../platform/shutdown.js';

/** What the applications are given beside the settings of their listener. */
export type AdminParts = Omit<AdminDependencies, 'url' | 'settings' | 'configPath'>;

/**
 * Opens them. A process without the admin role needs no admin listener where health has one of its own. Rejects with
 * `StartError`.
 * @returns where the admin listener is on this machine; undefined where there is none.
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
    shutdown.add('close health', endOf(application));
    await listen(application, 'health', health, log);
    if (parts.api === null) return undefined;
  }
  const application = await createAdminApplication(deps);
  shutdown.add('close admin', endOf(application));
  const scheme = tls === undefined ? 'http' : 'https';
  const bound = await listenQuietly(application, 'admin', { host, port }, scheme, false);
  boundPort = bound.port;
  // Where browsers go may have another name than where the listener is: passkeys are of a name, not of 127.0.0.1.
  announce('admin', bound.url, log, parts.api === null ? {} : { panel: deps.url() });
  return bound.url;
}

function endOf(application: NestFastifyApplication): () => Promise<void> {
  const serverEnd = new ServerEnd(application.getHttpServer());
  return () => serverEnd.during(() => application.close());
}
