/** Starts a real PgBouncer in front of a test database, on a free loopback port. */
import { chownSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { unprivilegedUser } from './postgres.js';
import { eventually, freePort, spawnOwned, temporaryFolder } from './processes.js';
import { findPgBouncer } from './servers.js';

export interface PgBouncer {
  /** `DATABASE_URL` for connections through PgBouncer. */
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts a PgBouncer in transaction mode, with its default settings otherwise. The caller must stop it.
 * @param databaseUrl URL of the database behind it.
 * @param poolSize maximum number of server connections, which all clients share.
 */
export async function startPgBouncer(databaseUrl: string, poolSize: number): Promise<PgBouncer> {
  const program = findPgBouncer();
  if (program === null) throw new Error('pgbouncer was not found');
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl);
  const name = pathname.slice(1);
  const folder = temporaryFolder('pgbouncer');
  const port = await freePort();
  const settings = [
    '[databases]',
    `${name} = host=${hostname} port=${serverPort} user=${username} password=${password}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${poolSize}`,
  ];
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(file, `${settings.join('\n')}\n`);
  const user = unprivilegedUser();
  for (const path of [folder, file]) chownSync(path, user.uid ?? -1, user.gid ?? -1);
  // Nothing reads the output, and PgBouncer would block on a full pipe.
  const running = spawnOwned(program, [file], { ...user, cwd: folder, stdio: 'ignore' });
  const url = `postgres://anyone@127.0.0.1:${port}/${name}`;
  await eventually('PgBouncer answers', async () => {
    if (!running.isRunning()) throw new Error('PgBouncer ended at once');
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  });
  return {
    url,
    async stop() {
      await running.end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}
