/** Fills an account with generated customers, once, in the transaction that prepares the database. */
import type { Transaction } from 'kysely';
import type { Clock } from '../model/clock.js';
import { toRow } from '../database/customer-row.js';
import type { Tables } from '../database/schema.js';
import { inventCustomers } from './invent-customers.js';

/** Maximum number of rows per statement. Each row has 16 values, and SQLite allows 32,766 values per statement. */
const BATCH_ROWS = 500;

/** Seeds an account. Does nothing and returns false if the account was seeded before or already has customers. */
export async function seedAccount(
  trx: Transaction<Tables>,
  accountId: string,
  count: number,
  clock: Clock,
): Promise<boolean> {
  const seeded = await trx
    .selectFrom('seed')
    .select('account_id')
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  if (seeded !== undefined) return false;
  const existing = await trx
    .selectFrom('customer')
    .select('id')
    .where('account_id', '=', accountId)
    .limit(1)
    .executeTakeFirst();
  if (existing !== undefined) return false;
  const rows = inventCustomers(accountId, count, clock.now()).map((customer) => toRow(accountId, customer));
  for (let start = 0; start < rows.length; start += BATCH_ROWS) {
    await trx
      .insertInto('customer')
      .values(rows.slice(start, start + BATCH_ROWS))
      .execute();
  }
  await trx.insertInto('seed').values({ account_id: accountId, customers: count, seeded_at: clock.now() }).execute();
  return true;
}
