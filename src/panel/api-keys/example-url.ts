/** Finds a URL of the public API to try a key with. */
import { useQuery } from '@tanstack/react-query';
import { api, unwrap } from '../api/client.js';

/** Reports whether a scope covers the wanted one: itself, its wildcard, or full access. */
const covers = (scopes: readonly string[], wanted: string): boolean =>
  scopes.some((scope) => scope === wanted || scope === '*' || scope === `${wanted.split(':')[0]}:*`);

/** Reads the published operations of the API. */
export const useOperations = () =>
  useQuery({ queryKey: ['operations'], queryFn: () => unwrap(api.GET('/admin/v1/operations')), staleTime: 300_000 });

/** Returns a GET URL without path parameters, if possible within these scopes; null if there is none. */
export function useExampleUrl(scopes: readonly string[]): string | null {
  const { data } = useOperations();
  const readable = data?.data.filter(({ method, path }) => method === 'GET' && !path.includes('{')) ?? [];
  const open = readable.find((operation) => operation.scopes.every((scope) => covers(scopes, scope)));
  return (open ?? readable[0])?.url ?? null;
}
