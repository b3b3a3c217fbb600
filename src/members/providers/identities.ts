/**
 * Links members to their identities at identity providers. The issuer and the subject identify a person. The email
 * address never does, because it can be reassigned.
 */
import type { Kysely, Transaction } from 'kysely';
import type { AuditAction } from '../../records/audit-actions.js';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { MemberIdentityTable } from '../../stores/database/tables/member-tables.js';
import type { Tables } from '../../stores/database/schema.js';
import type { Clock } from '../../platform/clock.js';
import { Problem } from '../../platform/problems/errors.js';
import { identityId } from '../identity-id.js';
import { markVerified } from '../verified-addresses.js';
import type { SignInMethods } from '../sign-in-methods.js';
import type { ProviderIdentity } from './provider-identity.js';

/**
 * MemberIdentity is a linked identity, as the panel shows it to its member. Times are in milliseconds since the epoch.
 * `lastUsedAt` is null if the identity was never used.
 */
export interface MemberIdentity {
  readonly id: string;
  readonly issuer: string;
  /** Email address that the provider reported last. Null if the provider reported none. */
  readonly email: string | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/**
 * Identities links identities to members, and finds members by identity. Methods also reject with the database's error.
 */
export class Identities {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly signInMethods: SignInMethods,
  ) {}

  /**
   * Returns the ID of the member who has linked an identity, or null if no member has. Records the use and the reported
   * email address. Marks the member's address as verified if the provider has verified the same address.
   */
  async findMemberAndRecordUse(identity: ProviderIdentity, trx: Transaction<Tables>): Promise<string | null> {
    const row = await this.updateLastUse(identity, trx).returning('member_id').executeTakeFirst();
    if (row === undefined) return null;
    await this.markAddressVerified(trx, row.member_id, identity);
    return row.member_id;
  }

  /**
   * Records the use of an identity by this member. Returns false, and records nothing, if the member has not linked the
   * identity.
   */
  async useOwn(identity: ProviderIdentity, memberId: string): Promise<boolean> {
    const own = this.updateLastUse(identity, this.database.db).where('member_id', '=', memberId);
    return (await own.executeTakeFirst()).numUpdatedRows === 1n;
  }

  /**
   * Links an identity to a member, in the caller's transaction. If the member has already linked the identity, changes
   * nothing.
   * @throws Problem `conflict` if another member has linked the identity
   */
  async linkIdentity(
    trx: Transaction<Tables>,
    memberId: string,
    identity: Pick<ProviderIdentity, 'issuer' | 'subject' | 'email' | 'isEmailVerified'>,
    context: ChangeContext,
  ): Promise<void> {
    const { issuer, subject, email } = identity;
    const now = this.clock.now();
    const row = { issuer, subject, member_id: memberId, email, created_at: now, last_used_at: now };
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('member_identity')
      .values(row)
      .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
      .executeTakeFirst();
    if (numInsertedOrUpdatedRows === 1n) {
      const after = { id: identityId({ issuer, subject }), issuer };
      await recordChange(trx, context, { ...targetOf(memberId, 'member.identity_linked'), before: null, after }, now);
      await this.markAddressVerified(trx, memberId, identity);
      return;
    }
    const owner = await trx
      .selectFrom('member_identity')
      .select('member_id')
      .where('issuer', '=', issuer)
      .where('subject', '=', subject)
      .executeTakeFirst();
    if (owner?.member_id !== memberId) {
      throw new Problem('conflict', { detail: 'Another member has linked this identity.' });
    }
  }

  /** Lists the identities of a member, oldest first. */
  async list(memberId: string): Promise<readonly MemberIdentity[]> {
    return (await this.rowsOf(this.database.db, memberId)).map(identityOfRow);
  }

  /**
   * Unlinks an identity from a member.
   * @throws Problem `resource_not_found`; `last_way_to_sign_in`
   */
  async unlink(memberId: string, id: string, context: ChangeContext): Promise<void> {
    await this.database.db.transaction().execute(async (trx) => {
      const row = (await this.rowsOf(trx, memberId)).find((each) => identityId(each) === id);
      if (row === undefined) throw new Problem('resource_not_found', { detail: 'Not found. No identity has this id.' });
      const { issuer, subject } = row;
      const own = trx.deleteFrom('member_identity').where('member_id', '=', memberId);
      const removal = own.where('issuer', '=', issuer).where('subject', '=', subject);
      await this.signInMethods.removeUnlessLast(trx, memberId, async () => void (await removal.execute()));
      const change = { ...targetOf(memberId, 'member.identity_unlinked'), before: { id, issuer }, after: null };
      await recordChange(trx, context, change, this.clock.now());
    });
  }

  private async markAddressVerified(
    trx: Transaction<Tables>,
    memberId: string,
    { email, isEmailVerified }: Pick<ProviderIdentity, 'email' | 'isEmailVerified'>,
  ): Promise<void> {
    if (email !== null && isEmailVerified) await markVerified(trx, memberId, email, this.clock.now());
  }

  private updateLastUse({ issuer, subject, email }: ProviderIdentity, db: Kysely<Tables>) {
    return db
      .updateTable('member_identity')
      .set({ last_used_at: this.clock.now(), email })
      .where('issuer', '=', issuer)
      .where('subject', '=', subject);
  }

  private async rowsOf(db: Kysely<Tables>, memberId: string): Promise<MemberIdentityTable[]> {
    return await db
      .selectFrom('member_identity')
      .selectAll()
      .where('member_id', '=', memberId)
      .orderBy('created_at')
      .orderBy('issuer')
      .execute();
  }
}

function identityOfRow(row: MemberIdentityTable): MemberIdentity {
  return {
    id: identityId(row),
    issuer: row.issuer,
    email: row.email,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
  };
}

function targetOf(memberId: string, action: AuditAction) {
  return { accountId: null, targetType: 'member', targetId: memberId, action } as const;
}
