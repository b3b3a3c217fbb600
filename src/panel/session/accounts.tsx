/**
 * Provides the current account, and what the user can do in it. Account pages have the account ID in their URL. Other
 * pages use the default account.
 */
import { createContext, use, type ReactNode } from 'react';
import { useQuery } from '@tanstack/react-query';
import type { OperationId } from '../../admin/openapi/operations.js';
import type { Role } from '../../members/permissions.js';
import { api, unwrap } from '../api/client.js';
import type { components } from '../api/admin-api.js';
import { mayCall, mayGiveThere, maySuspended } from './permissions.js';
import { useMe } from './session.js';

export type Account = components['schemas']['Account'];

const STORAGE_KEY = 'trailgate-account';

const AccountContext = createContext<Account | null>(null);

/** Returns the ID of the last visited account. Null if none is stored, or if the browser blocks storage. */
function lastAccountId(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    return null;
  }
}

function storeLastAccountId(id: string): void {
  try {
    localStorage.setItem(STORAGE_KEY, id);
  } catch {
    // Without storage, the next visit opens the first account.
  }
}

/**
 * Returns the ID of the default account: the account of a portal session, the last visited account, or the first
 * account. Undefined if the user has no account.
 */
export function useDefaultAccountId(): string | undefined {
  const { accounts, portal, has_more_accounts: hasMore } = useMe();
  const last = lastAccountId();
  const isAccessible = last !== null && (hasMore || accounts.some(({ id }) => id === last));
  return portal?.account_id ?? (isAccessible ? last : accounts[0]?.id);
}

/** Reads one account, and stores its ID for the next visit. */
export const useAccountById = (id: string) =>
  useQuery({
    queryKey: ['account', id],
    queryFn: async () => {
      const account = await unwrap(api.GET('/admin/v1/accounts/{id}', { params: { path: { id } } }));
      storeLastAccountId(id);
      return account;
    },
  });

/** InAccount provides the account to `useAccount` in all components inside. */
export function InAccount({ account, children }: { readonly account: Account; readonly children: ReactNode }) {
  return <AccountContext value={account}>{children}</AccountContext>;
}

/** Returns the account of the page. Throws on pages outside an account. */
export function useAccount(): Account {
  const account = use(AccountContext);
  if (account === null) throw new Error('This page is about an account');
  return account;
}

/**
 * Returns a function that reports whether the user can call an operation in the current account. Hide controls whose
 * operation the user cannot call. The API checks the permission again.
 */
export function useCan(): (operation: OperationId) => boolean {
  const me = useMe();
  const account = use(AccountContext);
  const isSuspended = account?.status === 'suspended';
  return (operation) => mayCall(me, operation, account?.id ?? null) && (!isSuspended || maySuspended(me, operation));
}

/**
 * Returns a function that reports whether the user can assign a role to members of the current account, and take the
 * role away.
 */
export function useCanAssignRole(): (role: Role) => boolean {
  const me = useMe();
  const { id } = useAccount();
  return (role) => mayGiveThere(me, id, role);
}
