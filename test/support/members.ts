/** Inserts members into a database, as the program stores them. */
import type { DatabaseHandle } from '../../src/stores/database/connect.js';
import type { MemberTable } from '../../src/stores/database/tables/member-tables.js';

/** Inserts a member and returns the row. Fields that are not given have default values. */
export async function writeMember(database: DatabaseHandle, fields: Partial<MemberTable> = {}): Promise<MemberTable> {
  const row: MemberTable = {
    id: 'mem_1',
    email: 'Ana@example.com',
    email_key: 'ana@example.com',
    email_verified_at: null,
    name: 'Ana López',
    is_operator: 0,
    status: 'active',
    password: null,
    password_changed_at: null,
    totp_secret: null,
    totp_confirmed_at: null,
    totp_last_step: 0,
    locale: null,
    version: 1,
    created_at: 1_795_000_000_000,
    updated_at: 1_795_000_000_000,
    last_signed_in_at: null,
    removed_at: null,
    ...fields,
  };
  await database.db.insertInto('member').values(row).execute();
  return row;
}
