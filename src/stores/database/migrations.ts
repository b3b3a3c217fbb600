/**
 * Lists the migrations, which are the same for both databases. A released migration is never edited. Each change is a
 * new migration.
 */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';
import { accountDeletions } from './migrations/account-deletions-migration.js';
import { accountSearch } from './migrations/account-search-migration.js';
import { auditCreations } from './migrations/audit-creations-migration.js';
import { credentialCreators } from './migrations/credential-creators-migration.js';
import { deletedKeys } from './migrations/deleted-keys-migration.js';
import { deletionTexts } from './migrations/deletion-texts-migration.js';
import { eventFilters } from './migrations/event-filters-migration.js';
import { externalIds } from './migrations/external-ids-migration.js';
import { failedDeliveries } from './migrations/failed-deliveries-migration.js';
import { foreignSecrets } from './migrations/foreign-secrets-migration.js';
import { heldDeliveries } from './migrations/held-deliveries-migration.js';
import { idempotentRequests } from './migrations/idempotent-requests-migration.js';
import { mails } from './migrations/mail-migration.js';
import { notices } from './migrations/notices-migration.js';
import { members } from './migrations/members-migration.js';
import { oauth } from './migrations/oauth-migration.js';
import { oauthOrigins } from './migrations/oauth-origins-migration.js';
import { nodeStatements } from './migrations/node-statements-migration.js';
import { openDeliveries } from './migrations/open-deliveries-migration.js';
import { requestLogs } from './migrations/request-logs-migration.js';
import { requestSources } from './migrations/request-sources-migration.js';
import { secretUses } from './migrations/secret-uses-migration.js';
import { urlTimes } from './migrations/url-times-migration.js';
import { verifiedAddresses } from './migrations/verified-addresses-migration.js';
import { webhooks } from './migrations/webhooks-migration.js';
import { versions } from './migrations/versions-migration.js';
import { previousSecrets } from './migrations/previous-secrets-migration.js';

/** Creates accounts, keys, month counters, the audit log, and facts about the installation. */
const first: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('account')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('plan', 'text', (column) => column.notNull())
      .addColumn('time_zone', 'text', (column) => column.notNull())
      .addColumn('billing_day', 'integer', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute();
    await createApiKeyTables(db);
    await db.schema
      .createTable('quota_counter')
      .addColumn('account_id', 'text', (column) => column.notNull())
      .addColumn('api_key_id', 'text', (column) => column.notNull())
      .addColumn('period_start', 'bigint', (column) => column.notNull())
      .addColumn('used', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('quota_counter_pkey', ['account_id', 'api_key_id', 'period_start'])
      .execute();
    await createAuditTable(db);
    await db.schema
      .createTable('installation')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('value', 'text', (column) => column.notNull())
      .execute();
  },
};

async function createApiKeyTables(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('api_key')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text', (column) => column.notNull().references('account.id'))
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('environment', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('allowed_ips', 'text', (column) => column.notNull())
    .addColumn('hint', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute();
  await db.schema.createIndex('api_key_account_id').on('api_key').columns(['account_id', 'id']).execute();
  await db.schema
    .createTable('api_key_secret')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('api_key_id', 'text', (column) => column.notNull().references('api_key.id').onDelete('cascade'))
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint')
    .execute();
  await db.schema.createIndex('api_key_secret_api_key_id').on('api_key_secret').column('api_key_id').execute();
  await db.schema.createIndex('api_key_secret_expires_at').on('api_key_secret').column('expires_at').execute();
}

async function createAuditTable(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_entry')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('account_id', 'text')
    .addColumn('actor', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('target_type', 'text', (column) => column.notNull())
    .addColumn('target_id', 'text', (column) => column.notNull())
    .addColumn('before', 'text')
    .addColumn('after', 'text')
    .addColumn('ip', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('audit_entry_account_id').on('audit_entry').columns(['account_id', 'id']).execute();
}

/**
 * Identifies months by their first day in the account's time zone, such as 20261101. Before, months were identified by
 * their first instant, which changes with the time zone.
 */
const monthLabels: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const rows = await sql<{
      account_id: string;
      api_key_id: string;
      period_start: number;
      used: number;
      updated_at: number;
    }>`
      select account_id, api_key_id, period_start, used, updated_at from quota_counter
    `.execute(db);
    await db.schema.dropTable('quota_counter').execute();
    await db.schema
      .createTable('quota_counter')
      .addColumn('account_id', 'text', (column) => column.notNull())
      .addColumn('api_key_id', 'text', (column) => column.notNull())
      .addColumn('period', 'integer', (column) => column.notNull())
      .addColumn('used', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('quota_counter_pkey', ['account_id', 'api_key_id', 'period'])
      .execute();
    for (const { account_id, api_key_id, period_start, used, updated_at } of rows.rows) {
      // Before this migration, every month began on the first at midnight UTC.
      const label = Number(new Date(Number(period_start)).toISOString().slice(0, 10).replaceAll('-', ''));
      await sql`
        insert into quota_counter (account_id, api_key_id, period, used, updated_at)
        values (${account_id}, ${api_key_id}, ${label}, ${used}, ${updated_at})
      `.execute(db);
    }
  },
};

/** Adds limits per key, grants of requests for a month, and counts that an operator has set. */
const quotaAdjustments: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('quota_adjustment')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('account_id', 'text', (column) => column.notNull().references('account.id'))
      .addColumn('api_key_id', 'text', (column) => column.notNull())
      .addColumn('period', 'integer', (column) => column.notNull())
      .addColumn('period_ends_at', 'bigint', (column) => column.notNull())
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('amount', 'bigint')
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('actor', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    const index = db.schema.createIndex('quota_adjustment_account_id').on('quota_adjustment');
    await index.columns(['account_id', 'id']).execute();
    for (const table of ['account', 'api_key']) {
      await addNumber(db, table, 'grant_period', 'integer');
      await addNumber(db, table, 'grant_amount', 'bigint');
    }
    await db.schema.alterTable('api_key').addColumn('limits', 'text').execute();
    await addNumber(db, 'quota_counter', 'set_at', 'bigint');
  },
};

/** Adds a column with the default 0. SQLite adds one column per statement. */
async function addNumber(db: Kysely<unknown>, table: string, name: string, type: 'integer' | 'bigint'): Promise<void> {
  const zero = db.schema.alterTable(table).addColumn(name, type, (column) => column.notNull().defaultTo(0));
  await zero.execute();
}

/**
 * Adds usage per day, usage of requests in flight, the processes that write usage, and the time of each month count.
 */
const usage: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .alterTable('quota_counter')
      .addColumn('observed_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema
      .createTable('usage_daily')
      .addColumn('account_id', 'text', (column) => column.notNull())
      .addColumn('day', 'integer', (column) => column.notNull())
      .addColumn('api_key_id', 'text', (column) => column.notNull())
      .addColumn('operation', 'text', (column) => column.notNull())
      .addColumn('period', 'integer', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('requests', 'bigint', (column) => column.notNull())
      .addColumn('cost', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('usage_daily_pkey', [
        'account_id',
        'day',
        'api_key_id',
        'operation',
        'period',
        'outcome',
      ])
      .execute();
    await db.schema.createIndex('usage_daily_day').on('usage_daily').column('day').execute();
    await db.schema
      .createTable('usage_in_flight')
      .addColumn('node', 'text', (column) => column.notNull())
      .addColumn('account_id', 'text', (column) => column.notNull())
      .addColumn('day', 'integer', (column) => column.notNull())
      .addColumn('api_key_id', 'text', (column) => column.notNull())
      .addColumn('operation', 'text', (column) => column.notNull())
      .addColumn('period', 'integer', (column) => column.notNull())
      .addColumn('requests', 'bigint', (column) => column.notNull())
      .addColumn('cost', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('usage_in_flight_pkey', [
        'node',
        'account_id',
        'day',
        'api_key_id',
        'operation',
        'period',
      ])
      .execute();
    await db.schema.createIndex('usage_in_flight_account_id').on('usage_in_flight').column('account_id').execute();
    await db.schema
      .createTable('usage_node')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('batch', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addColumn('buried_at', 'bigint', (column) => column.notNull())
      .execute();
  },
};

/** Adds the events of accounts. */
const events: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await db.schema
      .createTable('event')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('account_id', 'text', (column) => column.notNull())
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('data', 'text', (column) => column.notNull())
      .addColumn('dedupe_key', 'text', (column) => column.notNull().unique())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('event_account_id').on('event').columns(['account_id', 'id']).execute();
    await db.schema.createIndex('event_created_at').on('event').column('created_at').execute();
  },
};

/** Indexes the accounts' own counters by month. The index omits the counters of keys, which are far more numerous. */
const countersOfAccounts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const on = sql`create index quota_counter_of_accounts on quota_counter (period, account_id) where api_key_id = ''`;
    await on.execute(db);
  },
};

/** Adds microseconds, which order counts that were observed within the same millisecond. */
const observedMicroseconds: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addNumber(db, 'quota_counter', 'observed_us', 'integer');
  },
};

/** Adds the count of a day to the count of its month. */
const dayCounts: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    await addNumber(db, 'quota_counter', 'day', 'bigint');
    await addNumber(db, 'quota_counter', 'day_used', 'bigint');
  },
};

/**
 * Oldest version that works on a database with all migrations. Raise this version with a migration that breaks older
 * versions. Such a migration drops or renames something, or adds a column without a default. This version must not
 * exceed the previous minor version, so that an upgrade can be reverted (decision 0048).
 */
export const OLDEST_VERSION = '0.1.0';

/** Migrations by name, in the order in which they run. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001_accounts_keys_counters_audit': first,
  '0002_month_labels': monthLabels,
  '0003_quota_adjustments': quotaAdjustments,
  '0004_usage': usage,
  '0005_events': events,
  '0006_counters_of_accounts': countersOfAccounts,
  '0007_observed_microseconds': observedMicroseconds,
  '0008_node_statements': nodeStatements,
  '0009_members': members,
  '0010_versions': versions,
  '0011_secret_uses': secretUses,
  '0012_request_logs': requestLogs,
  '0013_mail': mails,
  '0014_webhooks': webhooks,
  '0015_account_search': accountSearch,
  '0016_notices': notices,
  '0017_failed_deliveries': failedDeliveries,
  '0018_held_deliveries': heldDeliveries,
  '0019_idempotent_requests': idempotentRequests,
  '0020_request_sources': requestSources,
  '0021_open_deliveries': openDeliveries,
  '0022_oauth': oauth,
  '0023_credential_creators': credentialCreators,
  '0024_url_times': urlTimes,
  '0026_oauth_origins': oauthOrigins,
  '0027_verified_addresses': verifiedAddresses,
  '0028_previous_secrets': previousSecrets,
  '0029_audit_creations': auditCreations,
  '0030_day_counts': dayCounts,
  '0031_external_ids': externalIds,
  '0032_foreign_secrets': foreignSecrets,
  '0033_account_deletions': accountDeletions,
  '0034_deleted_keys': deletedKeys,
  '0035_event_filters': eventFilters,
  '0036_deletion_texts': deletionTexts,
};
