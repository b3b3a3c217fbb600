/** Queries and requests to the admin API with which operators read, create, change and delete accounts. */
import { useQuery } from '@tanstack/react-query';
import type { components, operations } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';

export type Account = components['schemas']['Account'];
export type NewAccount = components['schemas']['CreateAccount'];
export type AccountChange = components['schemas']['UpdateAccount'];
type ListQuery = NonNullable<operations['listAccounts']['parameters']['query']>;

/** Search text and status filter of the list of accounts. */
export type AccountFilter = Pick<ListQuery, 'q' | 'status'>;

const LIST_QUERY_KEY = ['accounts'] as const;

/** Reads accounts page by page, sorted by name. */
export const useAccounts = (filter: AccountFilter) =>
  usePages(
    [...LIST_QUERY_KEY, filter],
    (page, signal) => {
      const query: ListQuery = { ...filter, sort: 'name', ...page };
      return unwrap(api.GET('/admin/v1/accounts', { params: { query }, signal }));
    },
    { keepsPrevious: true },
  );

export const usePlans = () =>
  useQuery({ queryKey: ['plans'], queryFn: () => unwrap(api.GET('/admin/v1/plans')), staleTime: 300_000 });

/**
 * Creates an account. `requestId` is the idempotency key. A retry with the same key does not create a second account.
 */
export const createAccount = (body: NewAccount, requestId: string) =>
  unwrap(api.POST('/admin/v1/accounts', { headers: { 'Idempotency-Key': requestId }, body }));

/** Changes an account. Rejects with `precondition_failed` if the account no longer has the given version. */
export async function updateAccount({ id, version }: Account, body: AccountChange): Promise<Account> {
  const headers = { 'If-Match': `"${version}"` };
  return await unwrap(api.PATCH('/admin/v1/accounts/{id}', { params: { path: { id } }, headers, body }));
}

/** Deletes an account. @param name name of the account, as the operator typed it to confirm. */
export const deleteAccount = (id: string, name: string) =>
  unwrap(api.DELETE('/admin/v1/accounts/{id}', { params: { path: { id } }, body: { name } }));

/**
 * Refetches all data that contains accounts: lists, the pages of an account, and the accounts of the signed-in user.
 */
export async function refetchAccounts(): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: LIST_QUERY_KEY }),
    queries.invalidateQueries({ queryKey: ['account'] }),
    queries.invalidateQueries({ queryKey: ['me'] }),
  ]);
}
