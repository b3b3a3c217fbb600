/** Finds a URL of the public API for the curl example that the panel shows with a new key. */
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';

/** Reports whether the scopes include the wanted scope, its wildcard (such as `bookings:*`) or full access (`*`). */
const covers = (scopes: readonly string[], wanted: string): boolean =>
  scopes.some((scope) => scope === wanted || scope === '*' || scope === `${wanted.split(':')[0]}:*`);

/** Reads the operations of the public API. Cached data counts as current for five minutes. */
export const useOperations = () =>
  useQuery({ queryKey: ['operations'], queryFn: () => unwrap(api.GET('/admin/v1/operations')), staleTime: 300_000 });

/**
 * Returns the URL of a GET operation without path parameters. Prefers an operation that the scopes allow. Null if no
 * operation qualifies, or until the operations are loaded.
 */
export function useExampleUrl(scopes: readonly string[]): string | null {
  const { data } = useOperations();
  const candidates = data?.data.filter(({ method, path }) => method === 'GET' && !path.includes('{')) ?? [];
  const permitted = candidates.find((operation) => operation.scopes.every((scope) => covers(scopes, scope)));
  return (permitted ?? candidates[0])?.url ?? null;
}
