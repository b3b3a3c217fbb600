/** Creates, reads and locks rows of the member table. Converts rows for the admin API and the audit log. */
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { AuditedFields } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { newId } from '../stores/database/ids.js';
import type { MemberTable } from '../stores/database/tables/member-tables.js';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import { emailKeyOf, type Locale } from './member-fields.js';

export type MemberRow = Selectable<MemberTable>;

/**
 * Member is a member without credentials. Times are in milliseconds since the epoch. `locale` is null if the member
 * chose no language. `lastSignedInAt` is null if the member never signed in.
 */
export interface Member {
  readonly id: string;
  readonly email: string;
  readonly isEmailVerified: boolean;
  readonly name: string;
  readonly isOperator: boolean;
  readonly status: 'active' | 'disabled';
  readonly locale: Locale | null;
  readonly hasPassword: boolean;
  readonly hasTotp: boolean;
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly lastSignedInAt: number | null;
}

/** NewMember holds the fields of a new member. */
export interface NewMember {
  readonly email: string;
  readonly name: string;
  readonly isOperator: boolean;
  /** Hash of the password. Null if the member has no password. */
  readonly password: string | null;
  readonly locale: Locale | null;
}

/** Converts a row to a `Member`. */
export function memberOf(row: MemberRow): Member {
  return {
    id: row.id,
    email: row.email,
    isEmailVerified: row.email_verified_at !== null,
    name: row.name,
    isOperator: row.is_operator === 1,
    status: row.status,
    locale: row.locale,
    hasPassword: row.password !== null,
    hasTotp: row.totp_confirmed_at !== null,
    version: row.version,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastSignedInAt: row.last_signed_in_at,
  };
}

/** Returns the row of a new active member, whose address is unverified. */
export function newMemberRow(member: NewMember, nowMs: number): MemberRow {
  return {
    id: newId('mem', nowMs),
    email: member.email,
    email_key: emailKeyOf(member.email),
    email_verified_at: null,
    name: member.name,
    is_operator: member.isOperator ? 1 : 0,
    status: 'active',
    password: member.password,
    password_changed_at: member.password === null ? null : nowMs,
    totp_secret: null,
    totp_confirmed_at: null,
    totp_last_step: 0,
    locale: member.locale,
    version: 1,
    created_at: nowMs,
    updated_at: nowMs,
    last_signed_in_at: null,
    removed_at: null,
  };
}

/** Inserts a member. Rejects with the database's unique violation if the address is taken. */
export async function insertMember(trx: Transaction<Tables>, member: NewMember, nowMs: number): Promise<MemberRow> {
  const row = newMemberRow(member, nowMs);
  await trx.insertInto('member').values(row).execute();
  return row;
}

/**
 * Reads a member's row and locks the row until the transaction ends.
 * @throws Problem `resource_not_found`, also for an erased member
 */
export async function lockMember(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  id: string,
): Promise<MemberRow> {
  const row = await trx
    .selectFrom('member')
    .selectAll()
    .where('id', '=', id)
    .where('removed_at', 'is', null)
    .$if(kind === 'postgres', (select) => select.forUpdate())
    .executeTakeFirst();
  return row ?? memberNotFound();
}

/** Returns the member with an email address, verified or not. Returns undefined if no member has the address. */
export async function memberByEmail(db: Kysely<Tables>, email: string): Promise<MemberRow | undefined> {
  return db.selectFrom('member').selectAll().where('email_key', '=', emailKeyOf(email)).executeTakeFirst();
}

export function memberNotFound(): never {
  throw new Problem('resource_not_found', { detail: 'Not found. No member has this id.' });
}

/** Returns the fields of a member that the audit log records. Omits credentials. */
export function auditedMember(row: MemberRow): AuditedFields {
  const { email, name, status, locale } = row;
  return { email, name, status, locale, is_operator: row.is_operator === 1 };
}
