/**
 * Forgetting a person who asks for it: whatever names them is emptied, and what is left is an id that the audit log
 * goes on with. Nothing signs them in any more, and their address is free.
 */
import type { Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../accounts/audit-log.js';
import type { DatabaseHandle } from '../database/connect.js';
import type { Tables } from '../database/schema.js';
import { forgetNoticesTo } from '../mail/mail-outbox.js';
import type { Clock } from '../platform/clock.js';
import { checkOthersOwn } from './account-members.js';
import { memberNotFound, type MemberRow } from './member-rows.js';
import { withdrawInvitationsOf } from './withdrawn-invitations.js';

/** Entries that are emptied in one statement. */
const ENTRIES_AT_ONCE = 500;
/** What of a person stands in what an entry tells of a change. */
const PERSONAL_FIELDS = ['email', 'name'] as const;
/** Tables with rows of a member, none of which outlives them. */
const THEIRS = [
  'member_identity',
  'member_passkey',
  'recovery_code',
  'member_session',
  'sign_in_step',
  'account_member',
] as const;

/** Forgetting forgets people. */
export class Forgetting {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
  ) {}

  /**
   * Forgets a member; repeating it ends what was interrupted.
   * @throws Problem `resource_not_found`; `last_owner` where an account would be left without one.
   */
  async forget(id: string, context: ChangeContext): Promise<void> {
    const { db } = this.database;
    const told = await db.transaction().execute((trx) => this.forgetIn(trx, id, context));
    // Many entries take more than one statement may: their names go last, and again where that was interrupted.
    for (const named of [{ column: 'actor', ids: [id] } as const, { column: 'target_id', ids: told } as const]) {
      for (let emptied = ENTRIES_AT_ONCE; emptied === ENTRIES_AT_ONCE;) emptied = await this.emptyEntries(named);
    }
  }

  /** @returns the ids of what entries of the audit log tell of, with a name or address in them. */
  private async forgetIn(trx: Transaction<Tables>, id: string, context: ChangeContext): Promise<readonly string[]> {
    const { kind } = this.database;
    const row = await trx
      .selectFrom('member')
      .selectAll()
      .where('id', '=', id)
      .$if(kind === 'postgres', (select) => select.forUpdate())
      .executeTakeFirst();
    if (row === undefined) return memberNotFound();
    if (row.removed_at !== null) return [id];
    await this.leaveAccounts(trx, id);
    for (const table of THEIRS) await trx.deleteFrom(table).where('member_id', '=', id).execute();
    const links = await trx
      .deleteFrom('link')
      .where(({ or, eb }) => or([eb('member_id', '=', id), eb('email_key', '=', row.email_key)]))
      .returning('id')
      .execute();
    await forgetNoticesTo(trx, row.email);
    const now = this.clock.now();
    await trx.updateTable('member').set(forgotten(row, now)).where('id', '=', id).execute();
    const target = { accountId: null, targetType: 'member', targetId: id, targetVersion: row.version + 1 } as const;
    const change = { action: 'member.forgotten', before: { status: row.status }, after: null } as const;
    const by = context.actor === id ? { ...context, actorLabel: undefined } : context;
    await recordChange(trx, by, { ...target, ...change }, now);
    await withdrawInvitationsOf(trx, id, by, now);
    return [id, ...links.map((link) => link.id)];
  }

  /** In the order of their ids: two who are forgotten at once do not wait for each other. */
  private async leaveAccounts(trx: Transaction<Tables>, id: string): Promise<void> {
    const owned = trx.selectFrom('account_member').select('account_id').where('member_id', '=', id);
    const accounts = await owned.where('role', '=', 'owner').orderBy('account_id').execute();
    for (const { account_id: accountId } of accounts) await checkOthersOwn(trx, this.database.kind, accountId, id);
  }

  private async emptyEntries({
    column,
    ids,
  }: {
    column: 'actor' | 'target_id';
    ids: readonly string[];
  }): Promise<number> {
    const { db } = this.database;
    if (column === 'actor') {
      const named = db.selectFrom('audit_entry').select('id').where('actor', 'in', ids);
      const some = named.where('actor_label', 'is not', null).limit(ENTRIES_AT_ONCE);
      const emptied = db.updateTable('audit_entry').set({ actor_label: null }).where('id', 'in', some);
      return Number((await emptied.executeTakeFirst()).numUpdatedRows);
    }
    const telling = db.selectFrom('audit_entry').select(['id', 'before', 'after']).where('target_id', 'in', ids);
    const rows = await telling
      .where('target_type', 'in', ['member', 'invitation'])
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
    for (const { id, before, after } of rows) {
      const empty = { before: withoutPerson(before), after: withoutPerson(after) };
      await db.updateTable('audit_entry').set(empty).where('id', '=', id).execute();
    }
    return rows.length;
  }
}

function forgotten(row: MemberRow, nowMs: number): MemberRow {
  return {
    ...row,
    email: '',
    // Unique, and nobody's address.
    email_key: row.id,
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

/** The fields of a change, with nothing in those that name somebody. */
function withoutPerson(json: string | null): string | null {
  if (json === null) return null;
  const fields = JSON.parse(json) as Record<string, unknown>;
  for (const field of PERSONAL_FIELDS) if (field in fields) fields[field] = null;
  return JSON.stringify(fields);
}
