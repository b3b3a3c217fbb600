/** What an account-bound request is about: which account, how it stands, and what a member is there. */
import type { Kysely } from 'kysely';
import type { Tables } from '../stores/database/schema.js';
import type { Role } from './permissions.js';

/** What a request names: an account, or something of one. */
export interface Named {
  readonly kind: 'account' | 'api_key' | 'link' | 'webhook_endpoint' | 'webhook_delivery' | 'event';
  readonly id: string;
}

/** The account of what a request names. */
export interface NamedAccount {
  readonly id: string;
  readonly isSuspended: boolean;
  /** Of the member that was asked about; null where they are no member, or nobody was. */
  readonly role: Role | null;
}

/** AccountAccess finds the account that a request is about, with one statement. */
export class AccountAccess {
  constructor(private readonly db: Kysely<Tables>) {}

  /** Undefined where there is nothing of that id. */
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
