/** Creates the tables of webhook deliveries. The row types are in `tables/webhook-tables.ts`. */
import { PostgresAdapter, sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

/** Extends events for delivery by webhooks. Existing events keep their retention of 90 days. */
const EVENTS_GROW = [
  `alter table event add column source text not null default 'trailgate'`,
  `alter table event add column resource text`,
  `alter table event add column occurred_at bigint not null default 0`,
  `alter table event add column fingerprint text`,
  `alter table event add column keep_until bigint not null default 0`,
  `update event set occurred_at = created_at, keep_until = created_at + 7776000000`,
  `drop index event_created_at`,
  `create index event_keep_until on event (keep_until)`,
];

const ENDPOINTS = [
  `create table webhook_endpoint (
    id text primary key, account_id text not null references account (id), url text not null,
    description text not null, event_types text not null, retry_schedule text, ordered integer not null,
    rate_per_second integer, concurrency integer, timeout_ms integer, status text not null, disabled_reason text,
    status_changed_at bigint not null, failing_since bigint, failures bigint not null default 0,
    last_success_at bigint, version integer not null, created_at bigint not null, updated_at bigint not null,
    deleted_at bigint)`,
  `create index webhook_endpoint_account_id on webhook_endpoint (account_id, id)`,
  `create table webhook_secret (
    id text primary key, endpoint_id text not null references webhook_endpoint (id) on delete cascade,
    secret text not null, seed text not null, public_key text not null, fingerprint text not null unique,
    created_at bigint not null, expires_at bigint)`,
  `create index webhook_secret_endpoint_id on webhook_secret (endpoint_id)`,
  `create index webhook_secret_expires_at on webhook_secret (expires_at)`,
  `create table webhook_lane (
    endpoint_id text primary key references webhook_endpoint (id) on delete cascade, due_at bigint not null,
    owner text, owned_until bigint not null default 0)`,
  `create index webhook_lane_due_at on webhook_lane (due_at)`,
];

const DELIVERIES = [
  `create table webhook_delivery (
    id text primary key, event_id text not null, endpoint_id text not null, account_id text not null,
    state text not null, reason text, resource text, due_at bigint not null, attempts integer not null default 0,
    cycle integer not null default 0, kind text not null, created_at bigint not null, updated_at bigint not null,
    keep_until bigint not null, unique (event_id, endpoint_id, kind))`,
  // Indexes for the work of a lane, for the order of deliveries per resource, and for the oldest due delivery.
  `create index webhook_delivery_lane on webhook_delivery (endpoint_id, due_at, id) where state = 'pending'`,
  `create index webhook_delivery_order on webhook_delivery (endpoint_id, resource, id)
    where state in ('pending', 'held')`,
  `create index webhook_delivery_due on webhook_delivery (due_at) where state = 'pending'`,
  `create index webhook_delivery_account_id on webhook_delivery (account_id, id)`,
  `create index webhook_delivery_endpoint_id on webhook_delivery (endpoint_id, id)`,
  `create index webhook_delivery_keep_until on webhook_delivery (keep_until)`,
  `create table webhook_attempt (
    id text primary key, delivery_id text not null references webhook_delivery (id) on delete cascade,
    number integer not null, cycle integer not null, at bigint not null, status_code integer,
    duration_ms integer not null, error text, address text, response_body text)`,
  `create index webhook_attempt_delivery_id on webhook_attempt (delivery_id, id)`,
];

/**
 * Each attempt updates indexed columns, which creates a new row version. With these settings, vacuum runs often enough.
 */
const POSTGRES = ['webhook_delivery', 'webhook_lane'].map(
  (table) => `alter table ${table} set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01)`,
);

export const webhooks: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
    const statements = [...EVENTS_GROW, ...ENDPOINTS, ...DELIVERIES, ...(isPostgres ? POSTGRES : [])];
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
