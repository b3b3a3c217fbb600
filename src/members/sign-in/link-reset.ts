/**
 * Resets a member's sign-in methods with a reset link. A reset removes passkeys and identities, because someone else
 * may have added them after intercepting the invitation. A reset keeps a confirmed authenticator app, because a link
 * alone must not remove a second factor. Operators can remove the app.
 */
import type { Kysely, Transaction } from 'kysely';
import { recordChange, type ChangeContext } from '../../records/audit-log.js';
import type { DatabaseHandle } from '../../stores/database/connect.js';
import type { Tables } from '../../stores/database/schema.js';
import type { RemovedFactor } from '../../mail/notice-texts.js';
import { identityId } from '../identity-id.js';
import { lockMember } from '../member-rows.js';
import { setPassword } from './new-passwords.js';
import type { SignInNotices } from './sign-in-notices.js';

/**
 * Factor is a passkey, a linked identity or an authenticator app of a member. Times are in milliseconds since the
 * epoch. `lastUsedAt` is null if the factor was never used, and for an authenticator app.
 */
export interface Factor {
  readonly type: 'passkey' | 'identity' | 'totp';
  /** Name of a passkey, or email address of an identity. Empty if the factor has neither. */
  readonly name: string;
  /** Issuer of an identity. Null for other factors. */
  readonly issuer: string | null;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}

/** Lists the member's passkeys, linked identities and confirmed authenticator app, oldest first within each type. */
export async function listFactors(db: Kysely<Tables>, memberId: string): Promise<readonly Factor[]> {
  const passkeys = await db
    .selectFrom('member_passkey')
    .select(['name', 'created_at', 'last_used_at'])
    .where('member_id', '=', memberId)
    .orderBy('id')
    .execute();
  const identities = await identitiesOf(db, memberId);
  const totp = await db
    .selectFrom('member')
    .select('totp_confirmed_at')
    .where('id', '=', memberId)
    .where('totp_confirmed_at', 'is not', null)
    .execute();
  return [
    ...passkeys.map((row) => ({ type: 'passkey', name: row.name, issuer: null, ...timesOf(row) }) as const),
    ...identities.map(
      (row) => ({ type: 'identity', name: row.email ?? '', issuer: row.issuer, ...timesOf(row) }) as const,
    ),
    ...totp.map(
      ({ totp_confirmed_at: at }) =>
        ({ type: 'totp', name: '', issuer: null, createdAt: at ?? 0, lastUsedAt: null }) as const,
    ),
  ];
}

/**
 * Sets a new password, removes passkeys and identities, and ends sessions, sign-in steps and open reset links. Discards
 * an authenticator app whose setup was not confirmed. Writes an audit entry for each removed passkey and identity. Call
 * it in the transaction that uses the link.
 * @param passwordHash hash of the new password; null removes the password, because passwords are turned off
 */
export async function resetSignIn(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  memberId: string,
  passwordHash: string | null,
  context: ChangeContext,
  nowMs: number,
  notices: SignInNotices,
): Promise<void> {
  // Lock the member, so that a concurrent session cannot add a factor after the removal.
  await lockMember(trx, kind, memberId);
  const removed = [
    ...(await removePasskeys(trx, memberId, context, nowMs)),
    ...(await removeIdentities(trx, memberId, context, nowMs)),
  ];
  // Discard an authenticator app whose setup was not confirmed. The person who started the setup may know the secret.
  await trx
    .updateTable('member')
    .set({ totp_secret: null })
    .where('id', '=', memberId)
    .where('totp_confirmed_at', 'is', null)
    .execute();
  await setPassword(trx, kind, memberId, passwordHash, context, nowMs, notices, removed);
}

async function removePasskeys(
  trx: Transaction<Tables>,
  memberId: string,
  context: ChangeContext,
  nowMs: number,
): Promise<readonly RemovedFactor[]> {
  const own = trx.deleteFrom('member_passkey').where('member_id', '=', memberId);
  const rows = await own.returning(['id', 'name']).execute();
  for (const { id, name } of rows) {
    const change = { action: 'member.passkey_removed', before: { id, name }, after: null } as const;
    await recordChange(trx, context, { ...targetOf(memberId), ...change }, nowMs);
  }
  return rows.map(({ name }) => ({ type: 'passkey', name }) as const);
}

async function removeIdentities(
  trx: Transaction<Tables>,
  memberId: string,
  context: ChangeContext,
  nowMs: number,
): Promise<readonly RemovedFactor[]> {
  const rows = await identitiesOf(trx, memberId);
  await trx.deleteFrom('member_identity').where('member_id', '=', memberId).execute();
  for (const { issuer, subject } of rows) {
    const before = { id: identityId({ issuer, subject }), issuer };
    const change = { action: 'member.identity_unlinked', before, after: null } as const;
    await recordChange(trx, context, { ...targetOf(memberId), ...change }, nowMs);
  }
  return rows.map(({ issuer, email }) => ({ type: 'identity', name: email ?? new URL(issuer).host }) as const);
}

async function identitiesOf(db: Kysely<Tables>, memberId: string) {
  const own = db.selectFrom('member_identity').selectAll().where('member_id', '=', memberId);
  return await own.orderBy('created_at').orderBy('issuer').execute();
}

function timesOf(row: { readonly created_at: number; readonly last_used_at: number | null }) {
  return { createdAt: row.created_at, lastUsedAt: row.last_used_at };
}

function targetOf(memberId: string) {
  return { accountId: null, targetType: 'member', targetId: memberId } as const;
}
