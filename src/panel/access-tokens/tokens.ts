/** Reading and changing access tokens: what the page and its dialogs ask of the API. */
import type { components } from '../api/admin-api.js';
import { api, ask, once } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';
import { dayIn, endOf } from '../words/zone.js';
import type { Expiry } from '../api-keys/key-values.js';
import { lastDay } from '../api-keys/key-values.js';

export type Token = components['schemas']['AccountToken'];
/** A token that was just created, with its secret. */
export type MadeToken = components['schemas']['AccountTokenWithSecret'];
type NewToken = components['schemas']['CreateAccountToken'];

/** The fields of the form. */
export interface TokenValues {
  readonly name: string;
  readonly role: Token['role'];
  readonly expiry: Expiry;
  /** `2027-01-31`, where a day was chosen. */
  readonly day: string;
  readonly addresses: readonly string[];
}

export const EMPTY: TokenValues = { name: '', role: 'viewer', expiry: '90', day: '', addresses: [] };

/** A token lives 366 days at most; the last day of one ends before that, whatever time it is now. */
const MOST_DAYS = 365;

/** The last day that a token can be given. */
export const latestTokenDay = (timeZone: string): string => dayIn(MOST_DAYS, timeZone);

const listOf = (accountId: string) => ['account', accountId, 'access-tokens'] as const;

/** The tokens of an account, a page after the other. */
export const useTokens = (accountId: string) =>
  usePages(
    listOf(accountId),
    (query, signal) =>
      ask(api.GET('/admin/v1/accounts/{id}/tokens', { params: { path: { id: accountId }, query }, signal })),
    { size: 100 },
  );

/** Has the list read anew: after every change. */
export const readAgain = (accountId: string) => queries.invalidateQueries({ queryKey: listOf(accountId) });

/** The body that creates a token. */
export const newToken = (values: TokenValues, timeZone: string): NewToken => ({
  name: values.name.trim(),
  role: values.role,
  expires_at: endOf(lastDay(values, timeZone), timeZone) ?? '',
  allowed_ips: [...values.addresses],
});

/** Creates a token. Sent again with the same id after a lost response, it is not created twice. */
export const createToken = (accountId: string, body: NewToken, requestId: string) =>
  ask(
    api.POST('/admin/v1/accounts/{id}/tokens', {
      params: { path: { id: accountId } },
      headers: once(requestId),
      body,
    }),
  );

export const revokeToken = ({ account_id: accountId, id }: Token) =>
  ask(api.DELETE('/admin/v1/accounts/{id}/tokens/{token_id}', { params: { path: { id: accountId, token_id: id } } }));
