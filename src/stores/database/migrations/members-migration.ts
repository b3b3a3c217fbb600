/**
 * Creates the tables of members, sessions and sign-in methods. The row types are in `member-tables.ts`. The SQL is the
 * same for both databases.
 */
import { sql, type Kysely } from 'kysely';
import type { Migration } from 'kysely/migration';

const MEMBERS = [
  `create table member (
    id text primary key, email text not null, email_key text not null unique, name text not null,
    is_operator integer not null, status text not null, password text, password_changed_at bigint,
    totp_secret text, totp_confirmed_at bigint, totp_last_step bigint not null default 0, locale text,
    version integer not null, created_at bigint not null, updated_at bigint not null, last_signed_in_at bigint,
    removed_at bigint)`,
  `create table account_member (
    account_id text not null references account (id), member_id text not null references member (id) on delete cascade,
    role text not null, version integer not null, created_at bigint not null, updated_at bigint not null,
    primary key (account_id, member_id))`,
  `create index account_member_member_id on account_member (member_id)`,
];

const SIGN_IN_METHODS = [
  `create table member_identity (
    issuer text not null, subject text not null, member_id text not null references member (id) on delete cascade,
    email text, created_at bigint not null, last_used_at bigint, primary key (issuer, subject))`,
  `create index member_identity_member_id on member_identity (member_id)`,
  `create table member_passkey (
    id text primary key, member_id text not null references member (id) on delete cascade,
    credential_id text not null unique, public_key text not null, counter bigint not null, transports text not null,
    device_type text not null, backed_up integer not null, name text not null, created_at bigint not null,
    last_used_at bigint)`,
  `create index member_passkey_member_id on member_passkey (member_id)`,
  `create table recovery_code (
    hash text primary key, member_id text not null references member (id) on delete cascade, used_at bigint)`,
  `create index recovery_code_member_id on recovery_code (member_id)`,
];

const SESSIONS = [
  `create table member_session (
    hash text primary key, id text not null unique, member_id text references member (id) on delete cascade,
    account_id text, role text, scopes text, label text, return_url text, method text not null,
    created_at bigint not null, last_seen_at bigint not null,
    ends_at bigint not null, confirmed_at bigint not null, ip text not null,
    user_agent text not null)`,
  `create index member_session_member_id on member_session (member_id)`,
  `create index member_session_account_id on member_session (account_id)`,
  `create index member_session_ends_at on member_session (ends_at)`,
  `create table sign_in_step (
    hash text primary key, kind text not null, member_id text, data text not null, attempts integer not null,
    expires_at bigint not null)`,
  `create index sign_in_step_expires_at on sign_in_step (expires_at)`,
];

const LINKS_AND_TOKENS = [
  `create table link (
    hash text primary key, id text not null unique, kind text not null, account_id text, member_id text,
    email_key text, role text, data text, created_by text not null, created_at bigint not null,
    expires_at bigint not null, used_at bigint, revoked_at bigint)`,
  `create index link_account_id on link (account_id, kind, id)`,
  `create index link_expires_at on link (expires_at)`,
  `create table account_token (
    id text primary key, account_id text not null references account (id), name text not null, role text not null,
    hash text not null unique, hint text not null, allowed_ips text not null, expires_at bigint not null,
    last_used_at bigint, created_by text not null, created_at bigint not null, revoked_at bigint)`,
  `create index account_token_account_id on account_token (account_id, id)`,
  // Now unused. Idempotency keys of the admin API are in `idempotent_request`. Nodes of the previous version still use
  // this table.
  `create table idempotency (
    principal text not null, key_hash text not null, fingerprint text not null, status integer, headers text,
    body text, created_at bigint not null, expires_at bigint not null, primary key (principal, key_hash))`,
  `create index idempotency_expires_at on idempotency (expires_at)`,
];

/** Creates the tables of panel members with their identities, accounts, sign-in methods and links. */
export const members: Migration = {
  async up(db: Kysely<unknown>): Promise<void> {
    for (const statement of [...MEMBERS, ...SIGN_IN_METHODS, ...SESSIONS, ...LINKS_AND_TOKENS]) {
      await sql.raw(statement).execute(db);
    }
  },
};
