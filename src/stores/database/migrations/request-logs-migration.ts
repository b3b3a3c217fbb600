/**
 * Creates the request log table. Only this table differs between the databases. PostgreSQL has one partition per day.
 */
import { PostgresAdapter, sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const COLUMNS = `
  account_id text not null, day integer not null, at bigint not null, node text not null, seq bigint not null,
  request_id text not null, api_key_id text not null, operation text not null, method text not null,
  route text not null, status integer not null, code text not null, duration_us bigint not null,
  bytes_in bigint not null, bytes_out bigint not null, ip text not null, weight integer not null,
  primary key (account_id, day, at, node, seq)`;

const INDEXES = [
  'create index request_log_request_id on request_log (account_id, request_id)',
  'create index request_log_api_key_id on request_log (account_id, api_key_id, day, at)',
];

/** Index for deleting the rows of a day in a table without partitions. */
const BY_DAY = 'create index request_log_day on request_log (day)';

export const requestLogs: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    const isPartitioned = db.getExecutor().adapter instanceof PostgresAdapter;
    const statements = [
      `create table request_log (${COLUMNS})${isPartitioned ? ' partition by range (day)' : ''}`,
      ...INDEXES,
      ...(isPartitioned ? [] : [BY_DAY]),
    ];
    for (const statement of statements) await sql.raw(statement).execute(db);
  },
};
