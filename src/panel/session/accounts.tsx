/** Which account the pages are about: the one in the address, else the last one, else the first. */
import { createContext, use, type ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { OperationId } from '../../admin/openapi/operations.js';
import type { Role } from '../../members/permissions.js';
import { api, ask } from '../api/client.js';
import type { components } from '../api/admin-api.js';
import { mayCall, mayGiveThere, maySuspended } from './permissions.js';
import { useMe } from './session.js';

export type Account = components['schemas']['Account'];

const LAST = 'trailgate-account';

const AccountContext = createContext<Account | null>(null);

/** The account of the last visit, where it is remembered. */
function lastAccountId(): string | null {
  try {
    return localStorage.getItem(LAST);
  } catch {
    return null;
  }
}

function remember(id: string): void {
  try {
    localStorage.setItem(LAST, id);
  } catch {
    // No storage: the next visit begins with the first account.
  }
}

/** The account to begin with; undefined for who is in none. */
export function useHomeId(): string | undefined {
  const { accounts, portal, has_more_accounts: hasMore } = useMe();
  const last = lastAccountId();
  const isTheirs = last !== null && (hasMore || accounts.some(({ id }) => id === last));
  return portal?.account_id ?? (isTheirs ? last : accounts[0]?.id);
}

/** Reads one account. */
export const useAccountById = (id: string) =>
  useQuery({
    queryKey: ['account', id],
    queryFn: async () => {
      const account = await ask(api.GET('/admin/v1/accounts/{id}', { params: { path: { id } } }));
      remember(id);
      return account;
    },
  });

/** Puts everything below it into an account. */
export function InAccount({ account, children }: { readonly account: Account; readonly children: ReactNode }) {
  return <AccountContext value={account}>{children}</AccountContext>;
}

/** The account that the page is about. */
export function useAccount(): Account {
  const account = use(AccountContext);
  if (account === null) throw new Error('This page is about an account');
  return account;
}

/** Whether who is signed in may do something in the account of the page. What is not allowed is not shown. */
export function useMay(): (operation: OperationId) => boolean {
  const me = useMe();
  const account = use(AccountContext);
  const isSuspended = account?.status === 'suspended';
  return (operation) => mayCall(me, operation, account?.id ?? null) && (!isSuspended || maySuspended(me, operation));
}

/** Whether who is signed in may give and take a role in the account of the page. */
export function useMayGive(): (role: Role) => boolean {
  const me = useMe();
  const { id } = useAccount();
  return (role) => mayGiveThere(me, id, role);
}
