/**
 * Finds the account that an admin API request is about, and the member's role in the account. The access check of the
 * admin API uses both.
 */
import type { Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import type { Role } from './permissions.js';

/** Named is a resource that a request names: an account, or a resource that belongs to an account. */
export interface Named {
  readonly kind: 'account' | 'api_key' | 'link' | 'webhook_endpoint' | 'webhook_delivery' | 'event';
  readonly id: string;
}

/** NamedAccount is the account that a named resource belongs to. */
export interface NamedAccount {
  readonly id: string;
  readonly isSuspended: boolean;
  /** The member's role. Null if the member does not belong to the account, or if no member was given. */
  readonly role: Role | null;
}

/**
 * AccountAccess finds a resource's account and a member's role in the account, with one query. Rejects with the
 * database's error.
 */
export class AccountAccess {
  constructor(private readonly db: Kysely<Tables>) {}

  /**
   * Returns the account of a resource and the member's role in the account. Returns undefined if the resource does not
   * exist.
   */
  async find({ kind, id }: Named, memberId: string | null): Promise<NamedAccount | undefined> {
    const row = await this.db
      .selectFrom('account')
      .leftJoin('account_member', (join) =>
        join.onRef('account_member.account_id', '=', 'account.id').on('account_member.member_id', '=', memberId ?? ''),
      )
      .select(['account.id', 'account.status', 'account_member.role'])
      .where(({ eb, selectFrom }) => {
        if (kind === 'account') return eb('account.id', '=', id);
        return eb('account.id', '=', selectFrom(kind).select('account_id').where('id', '=', id));
      })
      .executeTakeFirst();
    return row && { id: row.id, isSuspended: row.status === 'suspended', role: row.role };
  }
}
