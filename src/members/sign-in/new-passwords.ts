/** Validates, hashes and stores new passwords of members. A new password ends the member's sessions. */
import type { Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import { Problem } from '../../platform/problems/errors.js';
import type { RemovedFactor } from '../../mail/notice-texts.js';
import { lockMember } from '../member-rows.js';
import { endSessionsOf } from '../sessions.js';
import { passwordFault, type PasswordContext } from './password-rules.js';
import type { Passwords } from './passwords.js';
import type { SignInNotices } from './sign-in-notices.js';

/** NewPasswords validates and hashes new passwords. */
export class NewPasswords {
  /** @param host returns the host name of the panel, which is a guessable part of a password */
  constructor(
    private readonly passwords: Passwords,
    private readonly host: () => string,
  ) {}

  /**
   * Validates and hashes a new password. Call it outside of transactions, because hashing is slow.
   * @throws Problem `validation_failed` if the password breaks a rule, `sign_in_busy`
   */
  async hash(password: string, member: Omit<PasswordContext, 'host'>): Promise<string> {
    const fault = passwordFault(password, { ...member, host: this.host() });
    if (fault === null) return this.passwords.hash(password);
    const errors = [{ pointer: '#/password', detail: fault }];
    throw new Problem('validation_failed', { detail: `The password ${fault}.`, errors });
  }
}

/**
 * Sets a member's password. Ends all sessions, unfinished sign-in steps and open reset links, which someone else may
 * have. Mails a notice, unless the member had no password and nothing was removed.
 * @param passwordHash hash of the new password; null removes the password
 * @param removed other factors that the same change removed, for the notice
 */
export async function setPassword(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  memberId: string,
  passwordHash: string | null,
  context: ChangeContext,
  nowMs: number,
  notices: SignInNotices,
  removed: readonly RemovedFactor[] = [],
): Promise<void> {
  const row = await lockMember(trx, kind, memberId);
  const changed = { password: passwordHash, password_changed_at: nowMs, version: row.version + 1, updated_at: nowMs };
  await trx.updateTable('member').set(changed).where('id', '=', memberId).execute();
  await endSessionsOf(trx, memberId);
  await trx.deleteFrom('sign_in_step').where('member_id', '=', memberId).execute();
  const resets = trx.updateTable('link').set({ revoked_at: nowMs }).where('kind', '=', 'password_reset');
  await resets.where('member_id', '=', memberId).where('used_at', 'is', null).where('revoked_at', 'is', null).execute();
  const target = { accountId: null, targetType: 'member', targetId: memberId } as const;
  const hasChanged = passwordHash !== null || row.password !== null;
  const change = { action: 'member.password_changed', before: null, after: null } as const;
  if (hasChanged) await recordChange(trx, context, { ...target, ...change }, nowMs);
  if (row.password === null && removed.length === 0) return;
  await notices.add(trx, memberId, passwordHash === null ? 'sign_in_reset' : 'password_changed', context, { removed });
}
