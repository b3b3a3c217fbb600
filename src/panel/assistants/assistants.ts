/** Queries of MCP tools and recent calls. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { components } from '../api/admin-api.js';
import { api, unwrap } from '../api/client.js';
import { pollEvery } from '../api/polling.js';

export type McpTools = components['schemas']['McpTools'];
export type McpTool = components['schemas']['McpTool'];

const MOST_MESSAGES = 50;
const FOLLOW_MS = 5_000;

/** Reads the tools that a key with these scopes can call; null: all tools. */
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

/** Reads recent MCP requests of all keys: tool calls and protocol messages. */
export const useLatestCalls = (accountId: string) =>
  useQuery({
    queryKey: ['account', accountId, 'mcp-calls'],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET('/admin/v1/accounts/{id}/requests', {
          params: { path: { id: accountId }, query: { source: 'mcp', limit: MOST_MESSAGES } },
          signal,
        }),
      ),
    refetchInterval: pollEvery(FOLLOW_MS),
    staleTime: 0,
  });
