/** Creates the table of requests with an `Idempotency-Key`. The row type is in `schema.ts`. */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const STATEMENTS = [
  `create table idempotent_request (
    api_key_id text not null, key_hash text not null, fingerprint text not null, owner text not null,
    leased_until bigint not null, status integer, body_hash text, code text, fields text, body text,
    expires_at bigint not null, primary key (api_key_id, key_hash))`,
  `create index idempotent_request_expires_at on idempotent_request (expires_at)`,
];

/** The gateway uses the table only without Redis. The admin API always uses it. */
export const idempotentRequests: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
