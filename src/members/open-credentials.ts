/**
 * Finds the credentials that a member created and that still work, in order to list or end them when the member loses
 * access.
 */
import type { Kysely } from 'kysely';
import type { DatabaseHandle } from '../stores/database/connect.js';
import type { Tables } from '../stores/database/schema.js';
import type { Credential } from './credentials.js';

/** CredentialQuery selects the credentials of one creator. */
export interface CredentialQuery {
  readonly memberId: string;
  /** Limits the query to one account; undefined: all accounts. */
  readonly accountId?: string | undefined;
  readonly nowMs: number;
}

const DEFAULTS = { role: null, forMember: null } as const;

/**
 * Reads the active account tokens, OAuth grants and open links of one creator.
 * @param kind if given, also locks the links on PostgreSQL until the transaction ends
 */
export async function findTokensAndLinks(
  db: Kysely<Tables>,
  query: CredentialQuery,
  kind?: DatabaseHandle['kind'],
): Promise<readonly Credential[]> {
  return [...(await findTokens(db, query)), ...(await findGrants(db, query)), ...(await findLinks(db, query, kind))];
}

/** Reads the active portal sessions that began with a link created by the member. */
export async function findPortalSessions(
  db: Kysely<Tables>,
  { memberId, accountId, nowMs }: CredentialQuery,
): Promise<readonly Credential[]> {
  let sessions = db
    .selectFrom('member_session')
    .select(['id', 'account_id', 'label', 'role'])
    .where('created_by', '=', memberId)
    .where('ends_at', '>', nowMs);
  if (accountId !== undefined) sessions = sessions.where('account_id', '=', accountId);
  const rows = await sessions.orderBy('id').execute();
  return rows.map(({ id, account_id: account, label, role }) => ({
    ...DEFAULTS,
    type: 'portal_session',
    id,
    accountId: account,
    name: label ?? '',
    role,
  }));
}

async function findTokens(db: Kysely<Tables>, { memberId, accountId, nowMs }: CredentialQuery): Promise<Credential[]> {
  let tokens = db
    .selectFrom('account_token')
    .select(['id', 'account_id', 'name', 'role'])
    .where('created_by', '=', memberId)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs);
  if (accountId !== undefined) tokens = tokens.where('account_id', '=', accountId);
  const rows = await tokens.orderBy('id').execute();
  return rows.map(({ id, account_id: account, name, role }) => ({
    ...DEFAULTS,
    type: 'account_token',
    id,
    accountId: account,
    name,
    role,
  }));
}

async function findGrants(db: Kysely<Tables>, { memberId, accountId, nowMs }: CredentialQuery): Promise<Credential[]> {
  let keys = db
    .selectFrom('api_key')
    .select(['id', 'account_id', 'name'])
    .where('oauth_member_id', '=', memberId)
    .where('status', '<>', 'revoked')
    .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', nowMs)]));
  if (accountId !== undefined) keys = keys.where('account_id', '=', accountId);
  const rows = await keys.orderBy('id').execute();
  return rows.map(({ id, account_id: account, name }) => ({
    ...DEFAULTS,
    type: 'oauth_grant',
    id,
    accountId: account,
    name,
  }));
}

const LINK_TYPES = { invitation: 'invitation', portal: 'portal_session', password_reset: 'password_link' } as const;
const LINK_KINDS = ['invitation', 'portal', 'password_reset'] as const;

/**
 * Reads open links. With `kind`, the query on PostgreSQL waits for transactions that are using a link, and then omits
 * that link.
 */
async function findLinks(
  db: Kysely<Tables>,
  { memberId, accountId, nowMs }: CredentialQuery,
  kind?: DatabaseHandle['kind'],
): Promise<Credential[]> {
  let links = db
    .selectFrom('link')
    .select(['id', 'kind', 'account_id', 'member_id', 'role', 'data'])
    .where('created_by', '=', memberId)
    .where('kind', 'in', LINK_KINDS)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', nowMs);
  if (accountId !== undefined) links = links.where('account_id', '=', accountId);
  const rows = await links
    .orderBy('id')
    .$if(kind === 'postgres', (select) => select.forUpdate())
    .execute();
  return rows.flatMap(({ id, kind: linkKind, account_id: account, member_id: forMember, role, data }) => {
    const type = LINK_TYPES[linkKind as keyof typeof LINK_TYPES];
    const { email, label } = JSON.parse(data ?? '{}') as { readonly email?: unknown; readonly label?: unknown };
    const name = [email, label].find((each) => typeof each === 'string') ?? '';
    return [{ type, id, accountId: account, name: String(name), role, forMember }];
  });
}
