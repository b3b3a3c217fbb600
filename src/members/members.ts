/** Reads members and the accounts that they can see. Members change their own name and language here. */
import type { Transaction } from 'kysely';
import { changedFields, recordChange, type ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import type { UpdateMe } from './member-fields.js';
import { auditedMember, lockMember, memberNotFound, memberOf, type Member, type MemberRow } from './member-rows.js';
import type { Role } from './permissions.js';

/** OwnAccount is an account in a member's account list. */
export interface OwnAccount {
  readonly id: string;
  readonly name: string;
  readonly status: 'active' | 'suspended';
  /** Role of the member. `owner` for operators, who have all rights of an owner in every account. */
  readonly role: Role;
}

/**
 * MemberStore reads members and updates their own profile. Methods reject with a `Problem` for errors of the caller,
 * and with the database's error otherwise.
 */
export class MemberStore {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a member who was not erased.
   * @throws Problem `resource_not_found`
   */
  async get(id: string): Promise<Member> {
    const query = this.database.db.selectFrom('member').selectAll().where('id', '=', id);
    return memberOf((await query.where('removed_at', 'is', null).executeTakeFirst()) ?? memberNotFound());
  }

  /**
   * Reports whether an active operator exists who can sign in. The demo's operator has no password, passkey or identity
   * and does not count.
   */
  async hasOperator(): Promise<boolean> {
    const active = this.database.db.selectFrom('member').select('id').where('status', '=', 'active');
    const withSignInMethod = active.where('is_operator', '=', 1).where(({ or, exists, eb, selectFrom }) => {
      const passkeys = selectFrom('member_passkey').select('member_id').whereRef('member_id', '=', 'member.id');
      const identities = selectFrom('member_identity').select('member_id').whereRef('member_id', '=', 'member.id');
      return or([eb('password', 'is not', null), exists(passkeys), exists(identities)]);
    });
    return (await withSignInMethod.limit(1).executeTakeFirst()) !== undefined;
  }

  /**
   * Lists the accounts that a caller can see, sorted by name. Returns `limit + 1` accounts if more than `limit` exist.
   */
  async accountsOf(who: 'operator' | { readonly memberId: string }, limit: number): Promise<readonly OwnAccount[]> {
    const accounts = this.database.db
      .selectFrom('account')
      .select(['account.id', 'account.name', 'account.status'])
      .orderBy('account.name')
      .orderBy('account.id')
      .limit(limit + 1);
    if (who === 'operator') {
      return (await accounts.execute()).map((row) => ({ ...row, role: 'owner' as const }));
    }
    return accounts
      .innerJoin('account_member', 'account_member.account_id', 'account.id')
      .select('account_member.role')
      .where('account_member.member_id', '=', who.memberId)
      .execute();
  }

  /** Updates the member's own name and language. Only the given fields change. Rejects with `resource_not_found`. */
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
