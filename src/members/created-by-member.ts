/**
 * Reads what a member has created in an account. Credentials end when the member loses access. API keys and webhook
 * endpoints belong to the account and stay.
 */
import { sql, type Kysely } from 'kysely';
import type { AuditAction } from '../records/audit-actions.js';
import type { Tables } from '../stores/database/schema.js';
import { mayMake, readAccess, type Credential } from './credentials.js';
import { findPortalSessions, findTokensAndLinks, type CredentialQuery } from './open-credentials.js';

/** An API key or webhook endpoint that stays. */
export interface Kept {
  readonly type: 'api_key' | 'webhook_endpoint';
  readonly id: string;
  readonly accountId: string;
  /** The key's name; the endpoint's URL without its query, which may hold a secret of the receiver. */
  readonly name: string;
}

/** MemberCredentials lists what ends and what stays. */
export interface MemberCredentials {
  readonly ended: readonly Credential[];
  readonly kept: readonly Kept[];
  /** Whether more keys or endpoints stay than are listed. */
  readonly hasMore: boolean;
}

/** Maximum number of keys, and of endpoints, in the list. */
const MOST_KEPT = 100;

/** Reads what would end and what would stay if the member were removed from the account now. */
export async function readRemovalImpact(
  db: Kysely<Tables>,
  query: CredentialQuery & { readonly accountId: string },
): Promise<MemberCredentials> {
  const found = [...(await findTokensAndLinks(db, query)), ...(await findPortalSessions(db, query))];
  // Without the account's role, only the operator right is left.
  const access = (await readAccess(db, query.memberId))(null);
  const ended = found.filter((credential) => !mayMake(access, credential));
  return { ended, ...(await readKept(db, query.memberId, query.accountId)) };
}

/**
 * Reads the API keys and endpoints that the member created, alone or with an account token of theirs. The audit log
 * says who created them. Keys of OAuth clients are not among them: those are grants.
 * @param accountId undefined: those of all accounts.
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
      // As a constant: the databases do not use the index of creations for a parameter.
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
  const most = MOST_KEPT + 1;
  const keyRows = await keys.orderBy('id').limit(most).execute();
  const endpointRows = await endpoints.orderBy('id').limit(most).execute();
  return {
    kept: [
      ...keyRows
        .slice(0, MOST_KEPT)
        .map(({ id, account_id: of, name }) => ({ type: 'api_key', id, accountId: of, name }) as const),
      ...endpointRows.slice(0, MOST_KEPT).map(
        ({ id, account_id: of, url }) =>
          ({
            type: 'webhook_endpoint',
            id,
            accountId: of,
            name: url.replace(/\?.*$/s, '?…'),
          }) as const,
      ),
    ],
    hasMore: keyRows.length > MOST_KEPT || endpointRows.length > MOST_KEPT,
  };
}
