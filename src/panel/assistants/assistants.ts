/** Queries to the admin API that read MCP tools and recent MCP requests. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { pollEvery } from '../api/polling.js';

export type McpTools = components['schemas']['McpTools'];
export type McpTool = components['schemas']['McpTool'];

/** Number of recent requests to read. It includes protocol messages, which the page does not list. */
const MAX_REQUESTS = 50;
const POLL_MS = 5_000;

/** Reads the tools that a key with the given scopes can call. Null reads all tools. */
export const useTools = (accountId: string, scopes: readonly string[] | null) =>
  useQuery({
    queryKey: ['account', accountId, 'mcp-tools', scopes],
    queryFn: () =>
      unwrap(
        api.GET('/admin/v1/accounts/{id}/mcp-tools', {
          params: { path: { id: accountId }, query: scopes === null ? {} : { scopes: scopes.join(',') } },
        }),
      ),
    placeholderData: keepPreviousData,
  });

/**
 * Reads and polls the recent MCP requests of all keys of an account, newest first: tool calls and protocol messages.
 */
export const useLatestCalls = (accountId: string) =>
  useQuery({
    queryKey: ['account', accountId, 'mcp-calls'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/admin/v1/accounts/{id}/requests', {
          params: { path: { id: accountId }, query: { source: 'mcp', limit: MAX_REQUESTS } },
          signal,
        }),
      ),
    refetchInterval: pollEvery(POLL_MS),
    staleTime: 0,
  });
