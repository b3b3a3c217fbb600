/** Reading and changing accounts, as operators do. */
import { useQuery } from '@tanstack/react-query';
import type { components, operations } from '../api/admin-api.js';
import { api, ask } from '../api/client.js';
import { usePages } from '../api/pages.js';
import { queries } from '../api/queries.js';

export type Account = components['schemas']['Account'];
export type NewAccount = components['schemas']['CreateAccount'];
export type AccountChange = components['schemas']['UpdateAccount'];
type ListQuery = NonNullable<operations['listAccounts']['parameters']['query']>;

/** What a list is narrowed to. */
export type AccountFilter = Pick<ListQuery, 'q' | 'status'>;

const LIST = ['accounts'] as const;

/** Accounts by name, a page after the other. */
export const useAccounts = (filter: AccountFilter) =>
  usePages(
    [...LIST, filter],
    (page, signal) => {
      const query: ListQuery = { ...filter, sort: 'name', ...page };
      return ask(api.GET('/admin/v1/accounts', { params: { query }, signal }));
    },
    { keepsPrevious: true },
  );

export const usePlans = () =>
  useQuery({ queryKey: ['plans'], queryFn: () => ask(api.GET('/admin/v1/plans')), staleTime: 300_000 });

/** Sent again after a lost response, an account with the same id is not made twice. */
export const createAccount = (body: NewAccount, requestId: string) =>
  ask(api.POST('/admin/v1/accounts', { headers: { 'Idempotency-Key': requestId }, body }));

export async function updateAccount({ id, version }: Account, body: AccountChange): Promise<Account> {
  const headers = { 'If-Match': `"${version}"` };
  return await ask(api.PATCH('/admin/v1/accounts/{id}', { params: { path: { id } }, headers, body }));
}

/** Has lists, the switcher and the account's own pages read it anew. */
export async function readAgain(): Promise<void> {
  await Promise.all([
    queries.invalidateQueries({ queryKey: LIST }),
    queries.invalidateQueries({ queryKey: ['account'] }),
    queries.invalidateQueries({ queryKey: ['me'] }),
  ]);
}
