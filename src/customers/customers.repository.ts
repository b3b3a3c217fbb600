/**
 * Reads and writes customers in the database. Every query filters by account, so an account cannot see or change the
 * customers of other accounts.
 */
import type { SelectQueryBuilder, SqlBool } from 'kysely';
import { sql } from 'kysely';
import type { Clock } from './model/clock.js';
import type { Position } from './cursor.js';
import type { Customer, CustomerFields } from './model/customer.js';
import { newCustomerId } from './model/customer.js';
import { fromRow, toRow } from './database/customer-row.js';
import type { Database } from './database/connection.js';
import { isUniqueViolation } from './database/database-errors.js';
import type { Tables } from './database/schema.js';
import { RequestError } from './errors.js';
import type { CustomerFilters } from './list-query.js';
import type { Outbox } from './events/outbox.js';
import { likePatterns } from './model/search-text.js';

const COLUMNS = [
  'id',
  'first_name',
  'last_name',
  'email',
  'phone',
  'language',
  'birth_date',
  'activities',
  'status',
  'emergency_contact',
  'waiver_signed_at',
  'notes',
  'created_at',
  'updated_at',
] as const;

/** Page contains consecutive customers of the list, newest first. */
export interface Page {
  readonly customers: readonly Customer[];
  readonly hasMore: boolean;
}

/** CustomersRepository stores customers. With an outbox, each change also adds an event in the same transaction. */
export class CustomersRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    /** Undefined if no events are emitted. */
    private readonly outbox?: Outbox,
  ) {}

  /**
   * Returns the customers after a position, newest first. Without a position, the page starts with the newest customer.
   */
  async list(accountId: string, filters: CustomerFilters, limit: number, after?: Position): Promise<Page> {
    // Query one additional row to determine whether there is another page.
    const rows = await this.listQuery(accountId, filters, after)
      .limit(limit + 1)
      .execute();
    return { customers: rows.slice(0, limit).map(fromRow), hasMore: rows.length > limit };
  }

  /** Builds the list query without a limit. The method is public because a test checks the query plan. */
  listQuery(accountId: string, filters: CustomerFilters, after?: Position) {
    let query = this.database.tables.selectFrom('customer').select(COLUMNS).where('account_id', '=', accountId);
    query = applyFilters(query, filters);
    if (after !== undefined) query = query.where(sql<SqlBool>`(created_at, id) < (${after.createdAt}, ${after.id})`);
    return query.orderBy('created_at', 'desc').orderBy('id', 'desc');
  }

  /**
   * Returns a customer of the account.
   * @throws RequestError `customer_not_found`, also for a customer of another account
   */
  async get(accountId: string, id: string): Promise<Customer> {
    const row = await this.database.tables
      .selectFrom('customer')
      .select(COLUMNS)
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    if (row === undefined) throw notFound(id);
    return fromRow(row);
  }

  /**
   * Stores a new customer and returns the customer with the new ID.
   * @throws RequestError `email_taken`
   */
  async create(accountId: string, fields: CustomerFields): Promise<Customer> {
    const now = this.clock.now();
    const customer = { ...fields, id: newCustomerId(), created_at: now, updated_at: now };
    await this.database.tables.transaction().execute(async (trx) => {
      await refuseTakenEmail(fields.email, () =>
        trx.insertInto('customer').values(toRow(accountId, customer)).execute(),
      );
      await this.outbox?.add(trx, accountId, 'customer.created', customer);
    });
    this.outbox?.wake();
    return customer;
  }

  /**
   * Changes the given fields and returns the customer. Without fields, nothing changes, not even `updated_at`.
   * @throws RequestError `customer_not_found`, also for a customer of another account; `email_taken`
   */
  async update(accountId: string, id: string, changes: Partial<CustomerFields>): Promise<Customer> {
    const customer = await this.database.tables.transaction().execute(async (trx) => {
      // Transactions run one at a time, so concurrent changes of different fields do not overwrite each other.
      const row = await trx
        .selectFrom('customer')
        .select(COLUMNS)
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .executeTakeFirst();
      if (row === undefined) throw notFound(id);
      const current = fromRow(row);
      if (Object.keys(changes).length === 0) return current;
      const changed: Customer = { ...current, ...changes, updated_at: Math.max(this.clock.now(), current.updated_at) };
      await refuseTakenEmail(changed.email, () =>
        trx.updateTable('customer').set(toRow(accountId, changed)).where('id', '=', id).execute(),
      );
      await this.outbox?.add(trx, accountId, 'customer.updated', changed);
      return changed;
    });
    this.outbox?.wake();
    return customer;
  }

  /**
   * Deletes a customer of the account.
   * @throws RequestError `customer_not_found`, also for a customer of another account
   */
  async delete(accountId: string, id: string): Promise<void> {
    await this.database.tables.transaction().execute(async (trx) => {
      const row = await trx
        .deleteFrom('customer')
        .where('id', '=', id)
        .where('account_id', '=', accountId)
        .returning(COLUMNS)
        .executeTakeFirst();
      if (row === undefined) throw notFound(id);
      await this.outbox?.add(trx, accountId, 'customer.deleted', fromRow(row));
    });
    this.outbox?.wake();
  }

  /** Runs a trivial query. Rejects if the database is unavailable. */
  async ping(): Promise<void> {
    await sql`select 1`.execute(this.database.tables);
  }
}

function applyFilters<Output>(
  query: SelectQueryBuilder<Tables, 'customer', Output>,
  filters: CustomerFilters,
): SelectQueryBuilder<Tables, 'customer', Output> {
  let filtered = query;
  if (filters.email !== undefined) filtered = filtered.where('email', '=', filters.email);
  if (filters.status !== undefined) filtered = filtered.where('status', '=', filters.status);
  // The column is a JSON array. Names of activities contain no quotes.
  if (filters.activity !== undefined) filtered = filtered.where('activities', 'like', `%"${filters.activity}"%`);
  if (filters.created_after !== undefined) filtered = filtered.where('created_at', '>=', filters.created_after);
  if (filters.created_before !== undefined) filtered = filtered.where('created_at', '<', filters.created_before);
  for (const pattern of likePatterns(filters.search ?? '')) {
    filtered = filtered.where(sql<SqlBool>`search_text like ${pattern} escape '\\'`);
  }
  return filtered;
}

/** Runs a write. Converts a violation of the unique index of email addresses to the error `email_taken`. */
async function refuseTakenEmail(email: string, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const message =
      `Another customer has the email address ${email}. ` +
      'Find it with ?email= and change it, or use another address.';
    throw new RequestError('email_taken', message, [{ field: 'email', message: 'is taken by another customer' }]);
  }
}

function notFound(id: string): RequestError {
  return new RequestError('customer_not_found', `There is no customer ${id}.`);
}
