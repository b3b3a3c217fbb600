/** Queries and requests to the admin API that read, create and revoke the access tokens of an account. */
import type { components } from '../api/admin-api.js';
import { api, unwrap, idempotencyKeyHeader } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';
import { dayIn, endOf } from '../words/zone.js';
import type { Expiry } from '../api-keys/key-values.js';
import { lastDay } from '../api-keys/key-values.js';

export type Token = components['schemas']['AccountToken'];
/** New access token with its secret. Only the response to the creation contains the secret. */
export type CreatedToken = components['schemas']['AccountTokenWithSecret'];
type NewToken = components['schemas']['CreateAccountToken'];

/** Values of the form that creates an access token. */
export interface TokenValues {
  readonly name: string;
  readonly role: Token['role'];
  readonly expiry: Expiry;
  /** Custom expiration date, such as `2027-01-31`. The form uses this date only if `expiry` is `date`. */
  readonly day: string;
  readonly addresses: readonly string[];
}

export const EMPTY: TokenValues = { name: '', role: 'viewer', expiry: '90', day: '', addresses: [] };

/**
 * Maximum lifetime that the form offers, in days. The API allows 366 days. A token expires at the end of its last day,
 * so 366 days could exceed the limit by some hours.
 */
const MAX_LIFETIME_DAYS = 365;

/** Returns the latest expiration date that the form offers, such as `2027-01-31`, in the given time zone. */
export const latestTokenDay = (timeZone: string): string => dayIn(MAX_LIFETIME_DAYS, timeZone);

const listQueryKey = (accountId: string) => ['account', accountId, 'access-tokens'] as const;

/** Reads the access tokens of an account page by page, oldest first. */
export const useTokens = (accountId: string) =>
  usePages(
    listQueryKey(accountId),
    (query, signal) =>
      unwrap(api.GET('/admin/v1/accounts/{id}/tokens', { params: { path: { id: accountId }, query }, signal })),
    { size: 100 },
  );

/** Refetches the tokens of an account after a token was created or revoked. */
export const refetchTokens = (accountId: string) => queries.invalidateQueries({ queryKey: listQueryKey(accountId) });

/**
 * Returns the request body for a new token. The token expires at the end of its last day in the time zone. An invalid
 * date becomes an empty `expires_at`, which the API rejects.
 */
export const newToken = (values: TokenValues, timeZone: string): NewToken => ({
  name: values.name.trim(),
  role: values.role,
  expires_at: endOf(lastDay(values, timeZone), timeZone) ?? '',
  allowed_ips: [...values.addresses],
});

/** Creates a token. `requestId` is the idempotency key. A retry with the same key does not create a second token. */
export const createToken = (accountId: string, body: NewToken, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/accounts/{id}/tokens', {
      params: { path: { id: accountId } },
      headers: idempotencyKeyHeader(requestId),
      body,
    }),
  );

export const revokeToken = ({ account_id: accountId, id }: Token) =>
  unwrap(
    api.DELETE('/admin/v1/accounts/{id}/tokens/{token_id}', { params: { path: { id: accountId, token_id: id } } }),
  );
