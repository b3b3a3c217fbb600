/** Queries and changes of access tokens. */
import type { components } from '../api/admin-api.js';
import { api, unwrap, once } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';
import { dayIn, endOf } from '../words/zone.js';
import type { Expiry } from '../api-keys/key-values.js';
import { lastDay } from '../api-keys/key-values.js';

export type Token = components['schemas']['AccountToken'];
/** A new token with its secret. */
export type MadeToken = components['schemas']['AccountTokenWithSecret'];
type NewToken = components['schemas']['CreateAccountToken'];

/** Values of the form. */
export interface TokenValues {
  readonly name: string;
  readonly role: Token['role'];
  readonly expiry: Expiry;
  /** Custom expiration date: `2027-01-31`. */
  readonly day: string;
  readonly addresses: readonly string[];
}

export const EMPTY: TokenValues = { name: '', role: 'viewer', expiry: '90', day: '', addresses: [] };

/** Tokens live 366 days at most. A day less, because the last day of a token ends after the current time of day. */
const MOST_DAYS = 365;

/** Returns the latest expiration date of a new token. */
export const latestTokenDay = (timeZone: string): string => dayIn(MOST_DAYS, timeZone);

const listOf = (accountId: string) => ['account', accountId, 'access-tokens'] as const;

/** Reads the tokens of an account page by page. */
export const useTokens = (accountId: string) =>
  usePages(
    listOf(accountId),
    (query, signal) =>
      unwrap(api.GET('/admin/v1/accounts/{id}/tokens', { params: { path: { id: accountId }, query }, signal })),
    { size: 100 },
  );

/** Refetches the list after a change. */
export const readAgain = (accountId: string) => queries.invalidateQueries({ queryKey: listOf(accountId) });

/** Returns the request body for a new token. */
export const newToken = (values: TokenValues, timeZone: string): NewToken => ({
  name: values.name.trim(),
  role: values.role,
  expires_at: endOf(lastDay(values, timeZone), timeZone) ?? '',
  allowed_ips: [...values.addresses],
});

/** Creates a token. A retry with the same id after a lost response does not create a second one. */
export const createToken = (accountId: string, body: NewToken, requestId: string) =>
  unwrap(
    api.POST('/admin/v1/accounts/{id}/tokens', {
      params: { path: { id: accountId } },
      headers: once(requestId),
      body,
    }),
  );

export const revokeToken = ({ account_id: accountId, id }: Token) =>
  unwrap(
    api.DELETE('/admin/v1/accounts/{id}/tokens/{token_id}', { params: { path: { id: accountId, token_id: id } } }),
  );
