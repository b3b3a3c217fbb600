/** Queries and changes of accounts, for operators. */
import { useQuery } from '@tanstack/react-query';
import type { components, operations } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';

export type Account = components['schemas']['Account'];
export type NewAccount = components['schemas']['CreateAccount'];
export type AccountChange = components['schemas']['UpdateAccount'];
type ListQuery = NonNullable<operations['listAccounts']['parameters']['query']>;

/** Filter of a list. */
export type AccountFilter = Pick<ListQuery, 'q' | 'status'>;

const LIST = ['accounts'] as const;

/** Reads accounts by name, page by page. */
export const useAccounts = (filter: AccountFilter) =>
  usePages(
    [...LIST, filter],
    (page, signal) => {
      const query: ListQuery = { ...filter, sort: 'name', ...page };
      return unwrap(api.GET('/admin/v1/accounts', { params: { query }, signal }));
    },
    { keepsPrevious: true },
  );

export const usePlans = () =>
  useQuery({ queryKey: ['plans'], queryFn: () => unwrap(api.GET('/admin/v1/plans')), staleTime: 300_000 });

/** Creates an account. A retry with the same id after a lost response does not create a second one. */
export const createAccount = (body: NewAccount, requestId: string) =>
  unwrap(api.POST('/admin/v1/accounts', { headers: { 'Idempotency-Key': requestId }, body }));

export async function updateAccount({ id, version }: Account, body: AccountChange): Promise<Account> {
  const headers = { 'If-Match': `"${version}"` };
  return await unwrap(api.PATCH('/admin/v1/accounts/{id}', { params: { path: { id } }, headers, body }));
}

/** @param name the name of the account, as the operator typed it. */
export const deleteAccount = (id: string, name: string) =>
  unwrap(api.DELETE('/admin/v1/accounts/{id}', { params: { path: { id } }, body: { name } }));

/** Refetches accounts in lists, the switcher and the account's pages. */
export async function readAgain(): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: LIST }),
    queries.invalidateQueries({ queryKey: ['account'] }),
    queries.invalidateQueries({ queryKey: ['me'] }),
  ]);
}
