/**
 * Defines the credentials that members create for programs, assistants and other people, and the rule for who may
 * create them. A credential works only as long as its creator may create it. `credential-ends.ts` ends credentials
 * whose creator loses that right.
 */
import type { Kysely, Transaction } from 'kysely';
import type { ChangeContext } from '../records/audit-log.js';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import { Problem } from '../platform/problems/errors.js';
import { CREATOR_ROLES, canGrant, type CallerAccess, type Role } from './permissions.js';

export const CREDENTIAL_TYPES = [
  'account_token',
  'invitation',
  'oauth_grant',
  'password_link',
  'portal_session',
] as const;
export type CredentialType = (typeof CREDENTIAL_TYPES)[number];

/** Credential is a credential that still works. */
export interface Credential {
  readonly type: CredentialType;
  /**
   * ID of the credential. For an OAuth grant, the ID of its key. For a portal session, the ID of the link or of the
   * session.
   */
  readonly id: string;
  /** Account that the credential gives access to. Null for a password link, which belongs to no account. */
  readonly accountId: string | null;
  readonly name: string;
  /** Role that the credential grants. Null if the credential grants no role. */
  readonly role: Role | null;
  /** Member whom a password link is for. Null for every other credential. */
  readonly forMember: string | null;
}

/**
 * Reports whether a person with this access may create a credential of this type and role.
 * @param creatorAccess access of the person to the credential's account; null: no access
 */
export function canCreate(
  creatorAccess: CallerAccess | null,
  { type, role }: Pick<Credential, 'type' | 'role'>,
): boolean {
  if (creatorAccess === null) return false;
  const roles: readonly Role[] = CREATOR_ROLES[type];
  return (
    (creatorAccess === 'operator' || roles.includes(creatorAccess)) && (role === null || canGrant(creatorAccess, role))
  );
}

/**
 * Access returns the access of a member to an account, or null for no access. The account ID null stands for the
 * installation.
 */
export type Access = (accountId: string | null) => CallerAccess | null;

/** Reads the access of a member to all accounts. Disabled and unknown members have no access. */
export async function readAccess(db: Kysely<Tables>, memberId: string): Promise<Access> {
  const member = db.selectFrom('member').select(['status', 'is_operator']).where('id', '=', memberId);
  const row = await member.executeTakeFirst();
  if (row?.status !== 'active') return () => null;
  if (row.is_operator === 1) return () => 'operator';
  const memberships = db.selectFrom('account_member').select(['account_id', 'role']).where('member_id', '=', memberId);
  const roles = new Map((await memberships.execute()).map(({ account_id: id, role }) => [id, role]));
  return (accountId) => (accountId === null ? null : (roles.get(accountId) ?? null));
}

/**
 * Locks a member's row until the transaction ends. Transactions that create credentials and transactions that remove
 * access both lock the member before any account. So each transaction sees the committed changes of the other.
 */
export async function lockMemberRow(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  memberId: string,
  lock: 'update' | 'share',
): Promise<void> {
  // SQLite runs one write transaction at a time.
  if (kind !== 'postgres') return;
  const row = trx.selectFrom('member').select('id').where('id', '=', memberId);
  await (lock === 'update' ? row.forUpdate() : row.forShare()).executeTakeFirst();
}

/**
 * Checks that the acting member may still create a credential. Members can lose access after the request was
 * authorized. Call it in the transaction that creates the credential, before any other lock. Other actors always pass.
 * @throws Problem `forbidden`
 */
export async function checkCreator(
  trx: Transaction<Tables>,
  kind: DatabaseHandle['kind'],
  { actor }: Pick<ChangeContext, 'actor'>,
  credential: Pick<Credential, 'type' | 'role'>,
  accountId: string | null,
): Promise<void> {
  if (!isMember(actor)) return;
  await lockMemberRow(trx, kind, actor, 'share');
  const access = await readAccess(trx, actor);
  if (canCreate(access(accountId), credential)) return;
  throw new Problem('forbidden', { detail: 'You no longer have the role that this requires.' });
}

/**
 * Reports whether an audit log actor is a member. The operator token and programs are not members, and may always
 * create credentials.
 */
function isMember(actor: string): boolean {
  return actor.startsWith('mem_');
}
