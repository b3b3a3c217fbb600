/** Defines `trailgate backup`, which copies the SQLite database consistently while the program runs. */
import type { Command } from 'commander';
import { EnvironmentError, readEnvironment } from '../../config/model/environment.js';
import { SQLITE_FILE } from '../../stores/database/connect.js';
import { DatabaseOpenError } from '../../stores/database/database-errors.js';
import { backupDatabase } from '../../stores/database/sqlite-copy.js';
import { secretsKeyFile } from '../../stores/secrets/secrets-key.js';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const MIB = 1_048_576;

/**
 * Adds `backup` to the program.
 * @param write receives the output
 */
export function addBackupCommand(program: Command, write = (text: string) => void process.stdout.write(text)): void {
  program
    .command('backup')
    .description('back up the SQLite database to a file while the program runs')
    .argument('<file>', 'path of the copy; must not exist')
    .action(async (target: string) => {
      try {
        write(await backup(target));
      } catch (error) {
        if (!(error instanceof DatabaseOpenError || error instanceof EnvironmentError)) throw error;
        process.stderr.write(`trailgate: ${error.message}\n`);
        process.exitCode = 1;
      }
    });
}

async function backup(target: string): Promise<string> {
  const { dataDir, databaseUrl, secretsKey } = readEnvironment();
  if (databaseUrl !== undefined) {
    throw new DatabaseOpenError('DATABASE_URL is set: the data is in PostgreSQL. Use pg_dump to back it up.');
  }
  const source = join(dataDir, SQLITE_FILE);
  const bytes = await backupDatabase(source, target);
  const key = secretsKeyFile(dataDir);
  const hint =
    secretsKey === undefined && existsSync(key)
      ? `Also keep ${key}, at another place: without it, webhook secrets and authenticator apps cannot be restored.\n`
      : '';
  return `${source} → ${target} (${(bytes / MIB).toFixed(1)} MiB)\n${hint}`;
}
