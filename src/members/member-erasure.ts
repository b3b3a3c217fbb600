/**
 * Erases the personal data of a member, at the request of an operator or when the member's last account is deleted. The
 * audit log keeps the member's ID. The member can no longer sign in, and other members can use the email address.
 */
import type { Kysely, Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { AuditEntryTable, Tables } from '../stores/database/schema.js';
import { deleteNoticesTo } from '../mail/mail-outbox.js';
import type { Clock } from '../platform/clock.js';
import { checkOthersOwn } from './account-members.js';
import { emailKeyOf } from './member-fields.js';
import { memberNotFound, type MemberRow } from './member-rows.js';
import type { AccessChange, AccessChanges } from './credential-ends.js';
import { readKept, type MemberCredentials } from './created-by-member.js';
import type { Credential } from './credentials.js';

/** Number of audit entries that one query reads or updates. */
const ENTRIES_AT_ONCE = 500;
/** Fields with personal data in the `before` and `after` columns of audit entries. */
const PERSONAL_FIELDS = ['email', 'name'] as const;
/** Tables from which the rows of the member are deleted. */
const MEMBER_TABLES = [
  'member_identity',
  'member_passkey',
  'recovery_code',
  'member_session',
  'sign_in_step',
  'account_member',
] as const;

/** Entry holds the ID and the recorded change of an audit entry. */
type Entry = Pick<AuditEntryTable, 'id' | 'before' | 'after'>;

/** MemberErasure erases members. */
export class MemberErasure {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly access: AccessChanges,
  ) {}

  /**
   * Erases a member in one transaction. Erasing an erased member only redacts newer audit entries.
   * @returns the credentials that ended, and the API keys and webhook endpoints of the member that remain
   * @throws Problem `resource_not_found`; `last_owner` if an account would lose its last owner
   */
  async eraseMember(id: string, context: ChangeContext): Promise<MemberCredentials> {
    const ended = await this.access.run((access) => this.forgetIn(access, id, context));
    return { ended, ...(await readKept(this.database.db, id)) };
  }

  private async forgetIn(access: AccessChange, id: string, context: ChangeContext): Promise<readonly Credential[]> {
    const { kind } = this.database;
    const { trx } = access;
    const row = await trx
      .selectFrom('member')
      .selectAll()
      .where('id', '=', id)
      .$if(kind === 'postgres', (select) => select.forUpdate())
      .executeTakeFirst();
    if (row === undefined) return memberNotFound();
    // Redact the audit entries in the same transaction, so that no personal data remains if the member is erased. This
    // also covers entries that were added after an earlier erasure.
    for (const column of ['actor', 'target_id'] as const) {
      for (let count = ENTRIES_AT_ONCE; count === ENTRIES_AT_ONCE;) count = await redactEntries(trx, column, id);
    }
    if (row.removed_at !== null) return [];
    await this.checkOwnedAccounts(trx, id);
    for (const table of MEMBER_TABLES) await trx.deleteFrom(table).where('member_id', '=', id).execute();
    await trx
      .deleteFrom('link')
      .where(({ or, eb }) => or([eb('member_id', '=', id), eb('email_key', '=', row.email_key)]))
      .execute();
    await redactInvitationsTo(trx, row.email_key);
    await deleteNoticesTo(trx, row.email);
    const now = this.clock.now();
    await trx.updateTable('member').set(erasedRow(row, now)).where('id', '=', id).execute();
    const target = { accountId: null, targetType: 'member', targetId: id, targetVersion: row.version + 1 } as const;
    const change = { action: 'member.forgotten', before: { status: row.status }, after: null } as const;
    const by = context.actor === id ? { ...context, actorLabel: undefined } : context;
    await recordChange(trx, by, { ...target, ...change }, now);
    return access.endCredentials(id, 'creator_forgotten', by);
  }

  /**
   * Checks that every account of which the member is an owner has another active owner. Locks the accounts in ID order,
   * so that two concurrent erasures cannot deadlock.
   * @throws Problem `last_owner`
   */
  private async checkOwnedAccounts(trx: Transaction<Tables>, id: string): Promise<void> {
    const owned = trx.selectFrom('account_member').select('account_id').where('member_id', '=', id);
    const accounts = await owned.where('role', '=', 'owner').orderBy('account_id').execute();
    for (const { account_id: accountId } of accounts) await checkOthersOwn(trx, this.database.kind, accountId, id);
  }
}

/**
 * Removes personal data from one batch of audit entries by the member (`actor`) or about the member (`target_id`).
 * Returns the number of changed entries. After a full batch, more entries may remain.
 */
async function redactEntries(db: Kysely<Tables>, column: 'actor' | 'target_id', memberId: string): Promise<number> {
  if (column === 'actor') {
    const named = db.selectFrom('audit_entry').select('id').where('actor', '=', memberId);
    const some = named.where('actor_label', 'is not', null).limit(ENTRIES_AT_ONCE);
    const redacted = db.updateTable('audit_entry').set({ actor_label: null }).where('id', 'in', some);
    return Number((await redacted.executeTakeFirst()).numUpdatedRows);
  }
  const aboutMember = db.selectFrom('audit_entry').select(['id', 'before', 'after']).where('target_id', '=', memberId);
  const rows = await aboutMember
    .where('target_type', '=', 'member')
    .where(({ or, eb }) =>
      or(
        PERSONAL_FIELDS.flatMap((field) => [
          eb('before', 'like', `%"${field}":"%`),
          eb('after', 'like', `%"${field}":"%`),
        ]),
      ),
    )
    .limit(ENTRIES_AT_ONCE)
    .execute();
  for (const entry of rows) await redactEntry(db, entry);
  return rows.length;
}

/**
 * Erases an address from the audit entries of all invitations to the address, even if their links no longer exist. Call
 * it in the transaction that erases the member's address, because nothing can find the entries afterwards.
 */
async function redactInvitationsTo(trx: Transaction<Tables>, emailKey: string): Promise<void> {
  for (let last: string | undefined = '', entries: Entry[]; last !== undefined; last = entries.at(-1)?.id) {
    entries = await trx
      .selectFrom('audit_entry')
      .select(['id', 'before', 'after'])
      .where('target_type', '=', 'invitation')
      .where('after', 'like', '%"email":"%')
      .where('id', '>', last)
      .orderBy('id')
      .limit(ENTRIES_AT_ONCE)
      .execute();
    // Compare the addresses here, because the `lower` function of a database may fold ASCII letters only.
    for (const entry of entries) if (invitedEmailKey(entry) === emailKey) await redactEntry(trx, entry);
  }
}

/** Returns the normalized email address in an invitation's audit entry, or undefined if the entry has no address. */
function invitedEmailKey({ after }: Entry): string | undefined {
  const { email } = JSON.parse(after ?? '{}') as { readonly email?: unknown };
  return typeof email === 'string' ? emailKeyOf(email) : undefined;
}

async function redactEntry(db: Kysely<Tables>, { id, before, after }: Entry): Promise<void> {
  const empty = { before: withoutPersonalFields(before), after: withoutPersonalFields(after) };
  await db.updateTable('audit_entry').set(empty).where('id', '=', id).execute();
}

function erasedRow(row: MemberRow, nowMs: number): MemberRow {
  return {
    ...row,
    email: '',
    // A unique placeholder that is not a valid address.
    email_key: row.id,
    email_verified_at: null,
    name: '',
    is_operator: 0,
    status: 'disabled',
    password: null,
    password_changed_at: null,
    totp_secret: null,
    totp_confirmed_at: null,
    totp_last_step: 0,
    locale: null,
    version: row.version + 1,
    updated_at: nowMs,
    last_signed_in_at: null,
    removed_at: nowMs,
  };
}

/** Returns the JSON of a change with its personal fields set to null. */
function withoutPersonalFields(json: string | null): string | null {
  if (json === null) return null;
  const fields = JSON.parse(json) as Record<string, unknown>;
  for (const field of PERSONAL_FIELDS) if (field in fields) fields[field] = null;
  return JSON.stringify(fields);
}
