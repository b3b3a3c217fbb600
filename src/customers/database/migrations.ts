/** Defines the database migrations, oldest first. Never change a released migration. Add new migrations at the end. */
import type { Transaction } from 'kysely';
import { sql } from 'kysely';
import type { Tables } from './schema.js';

interface Migration {
  readonly name: string;
  up(trx: Transaction<Tables>): Promise<void>;
}

export const MIGRATIONS: readonly Migration[] = [
  { name: '0001_customers', up: createCustomers },
  { name: '0002_outbox', up: createOutbox },
];

async function createCustomers(trx: Transaction<Tables>): Promise<void> {
  await trx.schema
    .createTable('customer')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('first_name', 'text', (column) => column.notNull())
    .addColumn('last_name', 'text', (column) => column.notNull())
    .addColumn('email', 'text', (column) => column.notNull())
    .addColumn('phone', 'text')
    .addColumn('language', 'text', (column) => column.notNull())
    .addColumn('birth_date', 'text')
    .addColumn('activities', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('emergency_contact', 'text')
    .addColumn('waiver_signed_at', 'bigint')
    .addColumn('notes', 'text')
    .addColumn('search_text', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .execute();
  const index = (name: string) => trx.schema.createIndex(name).on('customer');
  await index('customer_by_email').columns(['account_id', 'email']).unique().execute();
  await index('customer_by_time').columns(['account_id', 'created_at', 'id']).execute();
  await index('customer_by_status').columns(['account_id', 'status', 'created_at', 'id']).execute();
  await trx.schema
    .createTable('seed')
    .addColumn('account_id', 'text', (column) => column.primaryKey())
    .addColumn('customers', 'integer', (column) => column.notNull())
    .addColumn('seeded_at', 'bigint', (column) => column.notNull())
    .execute();
  await trx.schema
    .createTable('setting')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'text', (column) => column.notNull())
    .execute();
}

async function createOutbox(trx: Transaction<Tables>): Promise<void> {
  await trx.schema
    .createTable('outbox')
    // IDs define the order of events. Autoincrement never reuses an ID, not even that of a deleted row.
    .addColumn('id', 'integer', (column) => column.primaryKey().autoIncrement())
    .addColumn('event_id', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('account_id', 'text', (column) => column.notNull())
    .addColumn('resource', 'text', (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .addColumn('occurred_at', 'bigint', (column) => column.notNull())
    .addColumn('refused_at', 'bigint')
    .execute();
  await trx.schema
    .createIndex('outbox_waiting')
    .on('outbox')
    .column('id')
    .where(sql.ref('refused_at'), 'is', null)
    .execute();
}
