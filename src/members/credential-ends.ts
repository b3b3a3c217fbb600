/**
 * Ends credentials whose creator may no longer create them. Every change that takes access from a member runs as an
 * `AccessChange`. The credentials end in the transaction of that change. After the commit, all nodes are notified of
 * revoked keys.
 */
import type { Transaction } from 'kysely';
import type { AuditAction } from '../records/audit-actions.js';
import { recordChange, type AuditedChange, type AuditedFields, type ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { ApiKeyTable, Tables } from '../stores/database/schema.js';
import type { Clock } from '../platform/clock.js';
import { canCreate, readAccess, type Credential } from './credentials.js';
import { findPortalSessions, findTokensAndLinks } from './open-credentials.js';

/**
 * AccessLoss is the reason why a member lost access. The audit log records the reason as the cause of each ended
 * credential.
 */
export type AccessLoss =
  | 'creator_removed'
  | 'creator_left'
  | 'creator_role_changed'
  | 'creator_disabled'
  | 'creator_no_longer_operator'
  | 'creator_forgotten';

/** KeyRevocations revokes the API keys of OAuth clients. The store of API keys implements this interface. */
export interface KeyRevocations {
  /** Revokes a key in a transaction. Call `announce` with the row after the commit. */
  revokeWithin(
    trx: Transaction<Tables>,
    id: string,
    context: ChangeContext,
    cause: AuditedFields,
  ): Promise<ApiKeyTable>;
  /** Notifies every node of a changed key. */
  announce(row: ApiKeyTable): Promise<void>;
}

/** AccessChanges runs transactions that can take access from members. */
export class AccessChanges {
  constructor(
    private readonly database: DatabaseHandle,
    private readonly clock: Clock,
    private readonly keys: KeyRevocations,
  ) {}

  /**
   * Runs a change in a transaction. After the commit, notifies all nodes of the keys that the change revoked. Rejects
   * with the error of the change.
   */
  async run<T>(change: (access: AccessChange) => Promise<T>): Promise<T> {
    const revoked: ApiKeyTable[] = [];
    const { database, clock, keys } = this;
    const result = await database.db
      .transaction()
      .execute((trx) => change(new AccessChange(trx, database.kind, clock, keys, revoked)));
    for (const row of revoked) await keys.announce(row);
    return result;
  }
}

/**
 * AccessChange is a transaction in which members may lose access. It ends the credentials that they may no longer
 * create.
 */
export class AccessChange {
  constructor(
    readonly trx: Transaction<Tables>,
    private readonly kind: DatabaseHandle['kind'],
    private readonly clock: Clock,
    private readonly keys: KeyRevocations,
    private readonly revoked: ApiKeyTable[],
  ) {}

  /**
   * Ends the credentials that a member created and may no longer create. Call it in the transaction after the member's
   * access has changed, with the member's row locked for update.
   * @param accountId limits the change to the credentials of this account; undefined: all accounts
   * @returns the credentials that ended
   */
  async endCredentials(
    memberId: string,
    loss: AccessLoss,
    context: ChangeContext,
    accountId?: string,
  ): Promise<readonly Credential[]> {
    const { trx } = this;
    const query = { memberId, accountId, nowMs: this.clock.now() };
    const access = await readAccess(trx, memberId);
    // The response and the idempotency record belong to the requested change, not to the credentials that end with that
    // change.
    const credentialContext = { ...context, response: undefined, made: undefined, authorize: undefined };
    const cause = { cause: loss, created_by: memberId };
    const ended: Credential[] = [];
    // Look for sessions last. If a portal link was being used during the first query, its session exists by now.
    for (const find of [() => findTokensAndLinks(trx, query, this.kind), () => findPortalSessions(trx, query)]) {
      for (const credential of await find()) {
        if (canCreate(access(credential.accountId), credential)) continue;
        if (await this.end(credential, credentialContext, cause, query.nowMs)) ended.push(credential);
      }
    }
    return ended;
  }

  /** Ends one credential. Returns false if the credential had already ended. */
  private async end(
    credential: Credential,
    context: ChangeContext,
    cause: AuditedFields,
    nowMs: number,
  ): Promise<boolean> {
    const { trx } = this;
    const { type, id } = credential;
    if (type === 'oauth_grant') {
      this.revoked.push(await this.keys.revokeWithin(trx, id, context, cause));
      return true;
    }
    if (!(await endRow(trx, credential, nowMs))) return false;
    const { action, before } = ENDED[type];
    const target: Pick<AuditedChange, 'accountId' | 'targetType' | 'targetId'> =
      type === 'password_link'
        ? { accountId: null, targetType: 'member', targetId: credential.forMember ?? id }
        : { accountId: credential.accountId, targetType: type, targetId: id };
    const change = { action, before: { status: before }, after: { status: 'revoked', ...cause } };
    await recordChange(trx, context, { ...target, ...change }, nowMs);
    return true;
  }
}

/** Audit action and previous status of each type of credential that this module ends itself. */
const ENDED: Readonly<
  Record<Exclude<Credential['type'], 'oauth_grant'>, { readonly action: AuditAction; readonly before: string }>
> = {
  account_token: { action: 'account_token.revoked', before: 'active' },
  invitation: { action: 'invitation.revoked', before: 'open' },
  password_link: { action: 'member.password_link_revoked', before: 'open' },
  portal_session: { action: 'portal_session.revoked', before: 'active' },
};

async function endRow(trx: Transaction<Tables>, { type, id }: Credential, nowMs: number): Promise<boolean> {
  if (type === 'account_token') {
    const token = trx.updateTable('account_token').set({ revoked_at: nowMs }).where('id', '=', id);
    return (await token.where('revoked_at', 'is', null).executeTakeFirst()).numUpdatedRows === 1n;
  }
  if (type === 'portal_session' && id.startsWith('ses_')) {
    const session = trx.deleteFrom('member_session').where('id', '=', id);
    return (await session.executeTakeFirst()).numDeletedRows === 1n;
  }
  const link = trx.updateTable('link').set({ revoked_at: nowMs }).where('id', '=', id);
  const open = link.where('used_at', 'is', null).where('revoked_at', 'is', null);
  return (await open.executeTakeFirst()).numUpdatedRows === 1n;
}
