/** Opens and migrates the database, and loads the key that encrypts secrets in the database. */
import { checkCounters, type CounterLocation } from '../quota/open.js';
import type { Config } from '../config/model/schema.js';
import type { Log } from '../platform/log.js';
import type { Shutdown } from '../platform/shutdown.js';
import { openDatabase, type DatabaseHandle } from '../stores/database/connect.js';
import type { SecretBox } from '../stores/secrets/secret-box.js';
import { openSecretBox } from '../stores/secrets/secrets-key.js';
import { awaitDatabase } from './await-database.js';
import type { Role } from './roles.js';

export interface Stores {
  readonly database: DatabaseHandle;
  /**
   * Null in a process with only the gateway role. Also null if the database is PostgreSQL and `TRAILGATE_SECRETS_KEY`
   * is not set.
   */
  readonly secretBox: SecretBox | null;
}

/**
 * Opens the stores. Waits while the database is unavailable. Rejects with `StartError` before the migration if the
 * counters are unavailable and no plan can decide without them.
 * @param isFirst false in a worker process
 */
export async function openStores(
  { environment, file }: Config,
  roles: readonly Role[],
  counterLocation: CounterLocation,
  isFirst: boolean,
  log: Log,
  shutdown: Shutdown,
): Promise<Stores> {
  const { dataDir, databaseUrl, redisUrl, secretsKey } = environment;
  const hasSecrets = roles.some((role) => role !== 'gateway');
  const secretBox = hasSecrets ? await openSecretBox(dataDir, secretsKey, databaseUrl === undefined) : null;
  if (redisUrl === undefined && databaseUrl !== undefined && isFirst) {
    log.logger.warn(
      { event: 'counters_in_process' },
      'PostgreSQL without Redis: run one gateway only, with its workers, otherwise each gateway admits the full limit',
    );
  }
  const open = (): Promise<DatabaseHandle> =>
    openDatabase({
      dataDir,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      beforeMigration: () => checkCounters(counterLocation, file.plans, log),
    });
  const database = await awaitDatabase(open, isFirst ? file.admin : undefined, log, shutdown);
  shutdown.add('close database', () => database.close());
  const { migrated, newer } = database;
  if (newer !== undefined) {
    const text = 'A newer version has migrated the database; this version works on it';
    log.logger.warn({ event: 'database_newer', migration: newer }, text);
  }
  if (migrated !== undefined) {
    const { from, to, count, copy } = migrated;
    const fields = { event: 'migrated', from, to, migrations: count, copy };
    log.logger.info(fields, 'The start has migrated the database');
  }
  return { database, secretBox };
}
