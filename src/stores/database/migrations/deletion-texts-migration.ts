/** Stores the name and email addresses of accounts that are being deleted. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** The deletion searches stored responses for these texts after the account has lost them. */
export const deletionTexts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await sql.raw('alter table account_deletion add column texts text').execute(db);
  },
};
