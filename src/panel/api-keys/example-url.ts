/** An address of the API to try a key at. */
import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../api/client.js';

/** Whether one of these scopes covers another: itself, its wildcard, or everything. */
const covers = (scopes: readonly string[], wanted: string): boolean =>
  scopes.some((scope) => scope === wanted || scope === '*' || scope === `${wanted.split(':')[0]}:*`);

/** The operations of the API, as they are published. */
export const useOperations = () =>
  useQuery({ queryKey: ['operations'], queryFn: () => ask(api.GET('/admin/v1/operations')), staleTime: 300_000 });

/** Where a key with these scopes can read something without more than its secret; null where nothing is known. */
export function useExampleUrl(scopes: readonly string[]): string | null {
  const { data } = useOperations();
  const readable = data?.data.filter(({ method, path }) => method === 'GET' && !path.includes('{')) ?? [];
  const open = readable.find((operation) => operation.scopes.every((scope) => covers(scopes, scope)));
  return (open ?? readable[0])?.url ?? null;
}
