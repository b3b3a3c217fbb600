/**
 * Prepares the database at startup. Applies migrations, creates the cursor secret, and seeds accounts. All steps run in
 * one transaction, so an interruption leaves no partial result and concurrent starts do not repeat a step.
 */
import { randomBytes } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { Clock } from './model/clock.js';
import { StartError } from './model/config.js';
import { seedAccount } from './seed/seed.js';
import type { Database } from './database/connection.js';
import { MIGRATIONS } from './database/migrations.js';
import type { Tables } from './database/schema.js';

const CURSOR_SECRET = 'cursor_secret';
const FIRST_ACCOUNT_CUSTOMERS = 10_000;
const OTHER_ACCOUNT_CUSTOMERS = 50;

/** Prepared is the result of `prepareDatabase`. */
export interface Prepared {
  readonly cursorSecret: string;
  /** Number of customers that this start has created, by account. Accounts that were seeded earlier are missing. */
  readonly seeded: ReadonlyMap<string, number>;
}

/**
 * Applies the missing migrations, creates the cursor secret, and seeds the accounts.
 * @throws StartError if a newer version of this program has written the database
 */
export async function prepareDatabase(
  database: Database,
  seedAccounts: readonly string[],
  clock: Clock,
): Promise<Prepared> {
  return database.tables.transaction().execute(async (trx) => {
    await migrate(trx, database, clock);
    const cursorSecret = await ensureCursorSecret(trx);
    const seeded = new Map<string, number>();
    for (const [index, accountId] of seedAccounts.entries()) {
      const count = index === 0 ? FIRST_ACCOUNT_CUSTOMERS : OTHER_ACCOUNT_CUSTOMERS;
      if (await seedAccount(trx, accountId, count, clock)) seeded.set(accountId, count);
    }
    return { cursorSecret, seeded };
  });
}

async function migrate(trx: Transaction<Tables>, database: Database, clock: Clock): Promise<void> {
  await trx.schema
    .createTable('migration')
    .ifNotExists()
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('applied_at', 'bigint', (column) => column.notNull())
    .execute();
  const applied = new Set((await trx.selectFrom('migration').select('name').execute()).map((row) => row.name));
  const unknown = [...applied].filter((name) => !MIGRATIONS.some((migration) => migration.name === name));
  if (unknown.length > 0) {
    throw new StartError(
      `the database ${database.place} was written by a newer version of this program (${unknown.join(', ')}). ` +
        'Start that version, or use another database.',
    );
  }
  for (const migration of MIGRATIONS) {
    if (applied.has(migration.name)) continue;
    await migration.up(trx);
    await trx.insertInto('migration').values({ name: migration.name, applied_at: clock.now() }).execute();
  }
}

/** Returns the secret that signs cursors. Creates the secret in a new database. */
async function ensureCursorSecret(trx: Transaction<Tables>): Promise<string> {
  const found = await trx.selectFrom('setting').select('value').where('name', '=', CURSOR_SECRET).executeTakeFirst();
  if (found !== undefined) return found.value;
  const value = randomBytes(32).toString('base64url');
  await trx.insertInto('setting').values({ name: CURSOR_SECRET, value }).execute();
  return value;
}
