/** Finds a URL of the public API for the curl example that is shown with a new key. */
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';

/** Reports whether the scopes include the wanted scope, its wildcard (`bookings:*`) or full access (`*`). */
const covers = (scopes: readonly string[], wanted: string): boolean =>
  scopes.some((scope) => scope === wanted || scope === '*' || scope === `${wanted.split(':')[0]}:*`);

/** Reads the published operations of the public API. */
export const useOperations = () =>
  useQuery({ queryKey: ['operations'], queryFn: () => unwrap(api.GET('/admin/v1/operations')), staleTime: 300_000 });

/**
 * Returns the URL of a GET operation without path parameters. Prefers one that the scopes allow, and otherwise returns
 * the first one. Null if there is none, or until the operations are loaded.
 */
export function useExampleUrl(scopes: readonly string[]): string | null {
  const { data } = useOperations();
  const candidates = data?.data.filter(({ method, path }) => method === 'GET' && !path.includes('{')) ?? [];
  const permitted = candidates.find((operation) => operation.scopes.every((scope) => covers(scopes, scope)));
  return (permitted ?? candidates[0])?.url ?? null;
}
