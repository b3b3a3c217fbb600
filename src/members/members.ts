/** The people who use the panel: who they are, and in which accounts they are what. */
import type { Transaction } from 'kysely';
import { changedFields, recordChange, type ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import type { UpdateMe } from './member-fields.js';
import { auditedMember, lockMember, memberNotFound, memberOf, type Member, type MemberRow } from './member-rows.js';
import type { Role } from './permissions.js';

/** An account as somebody who may see it has it in their switcher. */
export interface OwnAccount {
  readonly id: string;
  readonly name: string;
  readonly status: 'active' | 'suspended';
  /** Operators may all that an owner may, everywhere. */
  readonly role: Role;
}

/** Rejects with a `Problem` for what the caller got wrong, with the database's error for what it did not. */
export class MemberStore {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
  ) {}

  /** Rejects with `resource_not_found` where there is none. */
  async get(id: string): Promise<Member> {
    const query = this.database.db.selectFrom('member').selectAll().where('id', '=', id);
    return memberOf((await query.where('removed_at', 'is', null).executeTakeFirst()) ?? memberNotFound());
  }

  /** Whether somebody is there who may everything, and can sign in: the demo's operator, who comes by links, cannot. */
  async hasOperator(): Promise<boolean> {
    const active = this.database.db.selectFrom('member').select('id').where('status', '=', 'active');
    const withWayIn = active.where('is_operator', '=', 1).where(({ or, exists, eb, selectFrom }) => {
      const passkeys = selectFrom('member_passkey').select('member_id').whereRef('member_id', '=', 'member.id');
      const identities = selectFrom('member_identity').select('member_id').whereRef('member_id', '=', 'member.id');
      return or([eb('password', 'is not', null), exists(passkeys), exists(identities)]);
    });
    return (await withWayIn.limit(1).executeTakeFirst()) !== undefined;
  }

  /** The accounts that somebody may see, by name; at most `most`, and one more where there are more. */
  async accountsOf(who: 'operator' | { readonly memberId: string }, most: number): Promise<readonly OwnAccount[]> {
    const accounts = this.database.db
      .selectFrom('account')
      .select(['account.id', 'account.name', 'account.status'])
      .orderBy('account.name')
      .orderBy('account.id')
      .limit(most + 1);
    if (who === 'operator') {
      return (await accounts.execute()).map((row) => ({ ...row, role: 'owner' as const }));
    }
    return accounts
      .innerJoin('account_member', 'account_member.account_id', 'account.id')
      .select('account_member.role')
      .where('account_member.member_id', '=', who.memberId)
      .execute();
  }

  /** Changes what is named of the member's own fields. */
  async updateOwn(id: string, changes: UpdateMe, context: ChangeContext): Promise<Member> {
    const row = await this.database.db.transaction().execute((trx) => this.updateIn(trx, id, changes, context));
    return memberOf(row);
  }

  private async updateIn(
    trx: Transaction<Tables>,
    id: string,
    changes: UpdateMe,
    context: ChangeContext,
  ): Promise<MemberRow> {
    const before = await lockMember(trx, this.database.kind, id);
    const now = this.clock.now();
    const { name = before.name, locale = before.locale } = changes;
    const after: MemberRow = { ...before, name, locale, version: before.version + 1, updated_at: now };
    const difference = changedFields(auditedMember(before), auditedMember(after));
    if (difference === null) return before;
    await trx.updateTable('member').set(after).where('id', '=', id).execute();
    const target = { accountId: null, targetType: 'member', targetId: id } as const;
    await recordChange(trx, context, { ...target, action: 'member.updated', ...difference }, now);
    return after;
  }
}
