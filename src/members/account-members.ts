/**
 * Lists the members of an account, changes their roles, and removes members. An account always keeps at least one
 * active owner. A member who loses a role also loses the credentials that they created with that role.
 */
import type { Transaction } from 'kysely';
import { refuseDeleted, lockAccount } from '../accounts/accounts.js';
import type { AuditAction } from '../records/audit-actions.js';
import { recordChange, type ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import { checkVersion, type ExpectedVersions, type VersionedRow } from '../records/versions.js';
import { decodeCursor, pageOf, type Page, type PageRequest } from '../stores/database/cursor.js';
import type { AccountMemberTable } from '../stores/database/tables/member-tables.js';
import type { Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import { Problem } from '../platform/problems/errors.js';
import type { CallerAccess, Role } from './permissions.js';
import { checkCanGrantRoles, checkOwnerStays } from './role-rules.js';
import type { AccessChange, AccessChanges, AccessLoss } from './credential-ends.js';
import { readKept, readRemovalImpact, type MemberCredentials } from './created-by-member.js';
import { lockMemberRow } from './credentials.js';

/**
 * AccountMember is a member as the member list of an account shows them. Times are in milliseconds since the epoch.
 * `lastSignedInAt` is null if the member never signed in.
 */
export interface AccountMember {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly status: 'active' | 'disabled';
  readonly hasSecondFactor: boolean;
  readonly lastSignedInAt: number | null;
  readonly joinedAt: number;
  /** Version of the membership row, for `If-Match`. */
  readonly version: number;
}

/**
 * AccountMembers manages who belongs to an account. Methods reject with a `Problem` for errors of the caller, and with
 * the database's error otherwise.
 */
export class AccountMembers {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly access: AccessChanges,
  ) {}

  /**
   * Returns a page of an account's members, ordered by member ID. Rejects with `invalid_cursor` for a cursor of another
   * list.
   */
  async list(accountId: string, { limit, cursor }: PageRequest): Promise<Page<AccountMember>> {
    const list = `account-members:${accountId}`;
    let query = this.members().where('account_member.account_id', '=', accountId);
    if (cursor !== undefined) query = query.where('member.id', '>', decodeCursor(list, cursor));
    const rows = await query
      .orderBy('member.id')
      .limit(limit + 1)
      .execute();
    return pageOf(list, limit, rows, accountMemberOf);
  }

  /**
   * Changes a member's role and ends the credentials that the new role may not create.
   * @throws Problem `resource_not_found`, `forbidden`, `last_owner`; `precondition_failed` for a stale version
   */
  async changeRole(
    accountId: string,
    memberId: string,
    role: Role,
    callerAccess: CallerAccess,
    context: ChangeContext,
    expected?: ExpectedVersions,
  ): Promise<AccountMember> {
    await this.access.run(async (access) => {
      const { trx } = access;
      const { member: before, account } = await this.lock(trx, accountId, memberId);
      checkCanGrantRoles(callerAccess, before.role, role);
      // Setting the current role again always succeeds, even with a stale version.
      if (before.role === role) return;
      await checkVersion(trx, versioned(before), expected, account.time_zone);
      context.authorize?.('account_member', { role: before.role }, { role });
      if (before.role === 'owner') await this.checkOtherOwnerExists(trx, accountId, memberId);
      const now = this.clock.now();
      const after = { role, version: before.version + 1, updated_at: now };
      await whereMembership(trx.updateTable('account_member').set(after), accountId, memberId).execute();
      const change = { action: 'member.role_changed', before: { role: before.role }, after: { role } } as const;
      const target = { ...targetOf(accountId, memberId), targetVersion: after.version };
      await recordChange(trx, context, { ...target, ...change }, now);
      await access.endCredentials(memberId, 'creator_role_changed', context, accountId);
    });
    return this.get(accountId, memberId);
  }

  /**
   * Removes a member from an account and ends the credentials that they created in the account. Keeps the member's
   * other memberships.
   * @throws Problem `resource_not_found`, `forbidden`, `last_owner`; `precondition_failed` for a stale version
   */
  async removeMember(
    accountId: string,
    memberId: string,
    callerAccess: CallerAccess,
    context: ChangeContext,
    expected?: ExpectedVersions,
  ): Promise<MemberCredentials> {
    return this.access.run(async (access) => {
      const { member, account } = await this.lock(access.trx, accountId, memberId);
      checkCanGrantRoles(callerAccess, member.role);
      await checkVersion(access.trx, versioned(member), expected, account.time_zone);
      return this.removeMembership(access, member, 'member.removed', 'creator_removed', context);
    });
  }

  /**
   * Removes a member at their own request, and ends the credentials that they created in the account. Needs no
   * particular role.
   * @throws Problem `resource_not_found`, `last_owner`
   */
  async leaveAccount(accountId: string, memberId: string, context: ChangeContext): Promise<MemberCredentials> {
    return this.access.run(async (access) => {
      const { member } = await this.lock(access.trx, accountId, memberId);
      return this.removeMembership(access, member, 'member.left', 'creator_left', context);
    });
  }

  /**
   * Reads which credentials would end, and which resources would remain, if the member were removed. Changes nothing.
   * @throws Problem `resource_not_found`
   */
  async previewRemoval(accountId: string, memberId: string): Promise<MemberCredentials> {
    if ((await this.roleOf(accountId, memberId)) === undefined) return throwMemberNotFound();
    return readRemovalImpact(this.database.db, { accountId, memberId, nowMs: this.clock.now() });
  }

  /** Returns a member's role in an account, or undefined if the member does not belong to the account. */
  async roleOf(accountId: string, memberId: string): Promise<Role | undefined> {
    const query = this.database.db.selectFrom('account_member').select('role').where('account_id', '=', accountId);
    return (await query.where('member_id', '=', memberId).executeTakeFirst())?.role;
  }

  private async get(accountId: string, memberId: string): Promise<AccountMember> {
    const query = this.members().where('account_member.account_id', '=', accountId);
    const row = await query.where('member.id', '=', memberId).executeTakeFirst();
    return row === undefined ? throwMemberNotFound() : accountMemberOf(row);
  }

  private members() {
    return this.database.db
      .selectFrom('account_member')
      .innerJoin('member', 'member.id', 'account_member.member_id')
      .select(['member.id', 'member.email', 'member.name', 'member.status', 'member.totp_confirmed_at'])
      .select(['member.last_signed_in_at', 'account_member.role'])
      .select(['account_member.created_at', 'account_member.version']);
  }

  private async removeMembership(
    access: AccessChange,
    { account_id: accountId, member_id: memberId, role }: AccountMemberTable,
    action: AuditAction,
    loss: AccessLoss,
    context: ChangeContext,
  ): Promise<MemberCredentials> {
    const { trx } = access;
    if (role === 'owner') await this.checkOtherOwnerExists(trx, accountId, memberId);
    await whereMembership(trx.deleteFrom('account_member'), accountId, memberId).execute();
    const change = { action, before: { role }, after: null };
    const now = this.clock.now();
    await recordChange(trx, context, { ...targetOf(accountId, memberId), ...change }, now);
    const ended = await access.endCredentials(memberId, loss, context, accountId);
    return { ended, ...(await readKept(trx, memberId, accountId)) };
  }

  /** Locks the member and the account, so that two concurrent changes cannot remove the last owner. */
  private async lock(trx: Transaction<Tables>, accountId: string, memberId: string) {
    await lockMemberRow(trx, this.database.kind, memberId, 'update');
    const account = await lockAccount(trx, this.database.kind, accountId);
    const query = trx.selectFrom('account_member').selectAll().where('account_id', '=', accountId);
    const member = (await query.where('member_id', '=', memberId).executeTakeFirst()) ?? throwMemberNotFound();
    return { account, member };
  }

  private async checkOtherOwnerExists(trx: Transaction<Tables>, accountId: string, memberId: string): Promise<void> {
    await checkOthersOwn(trx, this.database.kind, accountId, memberId);
  }
}

/**
 * Checks that an account keeps an active owner without this member. Locks the account. Disabled owners do not count,
 * because only an operator can enable them again.
 * @throws Problem `last_owner`
 */
export async function checkOthersOwn(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  accountId: string,
  memberId: string,
): Promise<void> {
  await lockAccount(trx, kind, accountId);
  const { owners } = await trx
    .selectFrom('account_member')
    .innerJoin('member', 'member.id', 'account_member.member_id')
    .select(({ fn }) => fn.countAll<number>().as('owners'))
    .where('account_member.account_id', '=', accountId)
    .where('account_member.member_id', '!=', memberId)
    .where('account_member.role', '=', 'owner')
    .where('member.status', '=', 'active')
    .executeTakeFirstOrThrow();
  checkOwnerStays(Number(owners));
}

function versioned({ account_id: accountId, member_id: id, version }: AccountMemberTable): VersionedRow {
  return { id, version, accountId };
}

/**
 * Adds a member to an account and records the change in the audit log.
 * @throws Problem `already_a_member`; `resource_not_found` if the account is being deleted
 */
export async function joinAccount(
  trx: Transaction<Tables>,
  accountId: string,
  memberId: string,
  role: Role,
  context: ChangeContext,
  nowMs: number,
): Promise<void> {
  await refuseDeleted(trx, accountId);
  const inAccount = trx.selectFrom('account_member').select('role').where('account_id', '=', accountId);
  if ((await inAccount.where('member_id', '=', memberId).executeTakeFirst()) !== undefined) {
    throw new Problem('already_a_member', { detail: 'You are already a member of this account.' });
  }
  const times = { version: 1, created_at: nowMs, updated_at: nowMs };
  await trx
    .insertInto('account_member')
    .values({ account_id: accountId, member_id: memberId, role, ...times })
    .execute();
  const target = { ...targetOf(accountId, memberId), targetVersion: times.version };
  const change = { action: 'member.joined', before: null, after: { role } } as const;
  await recordChange(trx, context, { ...target, ...change }, nowMs);
}

interface MembershipQuery<Query> {
  where(column: 'account_id' | 'member_id', operator: '=', value: string): Query;
}

function whereMembership<Query extends MembershipQuery<Query>>(
  query: Query,
  accountId: string,
  memberId: string,
): Query {
  return query.where('account_id', '=', accountId).where('member_id', '=', memberId);
}

function targetOf(accountId: string, memberId: string): { accountId: string; targetType: 'member'; targetId: string } {
  return { accountId, targetType: 'member', targetId: memberId };
}

function throwMemberNotFound(): never {
  throw new Problem('resource_not_found', { detail: 'Not found. The account has no member with this id.' });
}

function accountMemberOf(row: {
  id: string;
  email: string;
  name: string;
  status: 'active' | 'disabled';
  totp_confirmed_at: number | null;
  last_signed_in_at: number | null;
  role: Role;
  created_at: number;
  version: number;
}): AccountMember {
  return {
    id: row.id,
    email: row.email,
    name: row.name,
    role: row.role,
    status: row.status,
    hasSecondFactor: row.totp_confirmed_at !== null,
    lastSignedInAt: row.last_signed_in_at,
    joinedAt: row.created_at,
    version: row.version,
  };
}
