/** Fills an account with invented customers, once. Runs inside the transaction that prepares the database. */
import type { Transaction } from 'kysely';
import type { Clock } from '../model/clock.js';
import { toRow } from '../database/customer-row.js';
import type { Tables } from '../database/schema.js';
import { inventCustomers } from './invent-customers.js';

/** Rows per statement: 16 values each, SQLite allows 32,766 in one. */
const BATCH_ROWS = 500;

/**
 * Returns true if customers were inserted: not for an account that was seeded before, and not for one that has
 * customers of its own already, which are somebody's data.
 */
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
  const own = await trx
    .selectFrom('customer')
    .select('id')
    .where('account_id', '=', accountId)
    .limit(1)
    .executeTakeFirst();
  if (own !== undefined) return false;
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
