/**
 * Lists the credentials and resources that a member has created, for the preview and the result of removing the member.
 * Credentials end with the member's access. API keys and webhook endpoints belong to the account and remain.
 */
import { sql, type Kysely } from 'kysely';
import type { AuditAction } from '../records/audit-actions.js';
import type { Tables } from '../stores/database/schema.js';
import { canCreate, readAccess, type Credential } from './credentials.js';
import { findPortalSessions, findTokensAndLinks, type CredentialQuery } from './open-credentials.js';

/** Kept is an API key or webhook endpoint that remains after its creator loses access. */
export interface Kept {
  readonly type: 'api_key' | 'webhook_endpoint';
  readonly id: string;
  readonly accountId: string;
  /** Name of the key. For an endpoint, its URL without the query, which may contain a secret of the receiver. */
  readonly name: string;
}

/** MemberCredentials lists the credentials that end with a member's access, and the resources that remain. */
export interface MemberCredentials {
  readonly ended: readonly Credential[];
  readonly kept: readonly Kept[];
  /** Whether more keys or endpoints remain than `kept` lists. */
  readonly hasMore: boolean;
}

/** Maximum number of keys in the list, and maximum number of endpoints. */
const MAX_KEPT = 100;

/**
 * Reads the credentials that would end and the resources that would remain if the member were removed from the account
 * now.
 */
export async function readRemovalImpact(
  db: Kysely<Tables>,
  query: CredentialQuery & { readonly accountId: string },
): Promise<MemberCredentials> {
  const found = [...(await findTokensAndLinks(db, query)), ...(await findPortalSessions(db, query))];
  // Without a role in the account, only an operator may still create credentials.
  const access = (await readAccess(db, query.memberId))(null);
  const ended = found.filter((credential) => !canCreate(access, credential));
  return { ended, ...(await readKept(db, query.memberId, query.accountId)) };
}

/**
 * Reads the API keys and webhook endpoints that the member created directly or with an account token. Finds them by
 * their creation entries in the audit log. Keys of OAuth clients are excluded, because they are credentials.
 * @param accountId limits the list to one account; undefined: all accounts
 */
export async function readKept(
  db: Kysely<Tables>,
  memberId: string,
  accountId?: string,
): Promise<Pick<MemberCredentials, 'kept' | 'hasMore'>> {
  const createdWith = (action: AuditAction) =>
    db
      .selectFrom('audit_entry')
      .select('target_id')
      // The action is a literal, because the databases use the partial index `audit_entry_creations` only for
      // constants.
      .where('action', '=', sql.lit(action))
      .where(
        'actor',
        'in',
        sql<string>`(select ${memberId} union all select id from account_token where created_by = ${memberId})`,
      );
  let keys = db
    .selectFrom('api_key')
    .select(['id', 'account_id', 'name'])
    .where('status', '<>', 'revoked')
    .where('oauth_client_id', 'is', null)
    .where('id', 'in', createdWith('api_key.created'));
  let endpoints = db
    .selectFrom('webhook_endpoint')
    .select(['id', 'account_id', 'url'])
    .where('deleted_at', 'is', null)
    .where('id', 'in', createdWith('webhook_endpoint.created'));
  if (accountId !== undefined) {
    keys = keys.where('account_id', '=', accountId);
    endpoints = endpoints.where('account_id', '=', accountId);
  }
  const limit = MAX_KEPT + 1;
  const keyRows = await keys.orderBy('id').limit(limit).execute();
  const endpointRows = await endpoints.orderBy('id').limit(limit).execute();
  return {
    kept: [
      ...keyRows
        .slice(0, MAX_KEPT)
        .map(({ id, account_id: account, name }) => ({ type: 'api_key', id, accountId: account, name }) as const),
      ...endpointRows.slice(0, MAX_KEPT).map(
        ({ id, account_id: account, url }) =>
          ({
            type: 'webhook_endpoint',
            id,
            accountId: account,
            name: url.replace(/\?.*$/s, '?…'),
          }) as const,
      ),
    ],
    hasMore: keyRows.length > MAX_KEPT || endpointRows.length > MAX_KEPT,
  };
}
