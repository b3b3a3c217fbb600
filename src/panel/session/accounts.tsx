/** The current account: from the address, else the last used, else the first. */
import { createContext, use, type ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { OperationId } from '../../admin/openapi/operations.js';
import type { Role } from '../../members/permissions.js';
import { api, unwrap } from '../api/client.js';
import type { components } from '../api/admin-api.js';
import { mayCall, mayGiveThere, maySuspended } from './permissions.js';
import { useMe } from './session.js';

export type Account = components['schemas']['Account'];

const LAST = 'trailgate-account';

const AccountContext = createContext<Account | null>(null);

/** Returns the account of the last visit, if stored. */
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
    // Without storage, the next visit opens the first account.
  }
}

/** Returns the default account; undefined if the user has none. */
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
      const account = await unwrap(api.GET('/admin/v1/accounts/{id}', { params: { path: { id } } }));
      remember(id);
      return account;
    },
  });

/** Provides the account to all components below. */
export function InAccount({ account, children }: { readonly account: Account; readonly children: ReactNode }) {
  return <AccountContext value={account}>{children}</AccountContext>;
}

/** Returns the account of the page. */
export function useAccount(): Account {
  const account = use(AccountContext);
  if (account === null) throw new Error('This page is about an account');
  return account;
}

/** Returns a check whether the signed-in user can call an operation in the current account. Hide what they cannot. */
export function useMay(): (operation: OperationId) => boolean {
  const me = useMe();
  const account = use(AccountContext);
  const isSuspended = account?.status === 'suspended';
  return (operation) => mayCall(me, operation, account?.id ?? null) && (!isSuspended || maySuspended(me, operation));
}

/** Returns a check whether the signed-in user can assign and remove a role in the current account. */
export function useMayGive(): (role: Role) => boolean {
  const me = useMe();
  const { id } = useAccount();
  return (role) => mayGiveThere(me, id, role);
}
