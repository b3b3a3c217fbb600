/** Defines the metrics of the MCP server. */
import { counter } from './metric.js';

/** Supported protocol methods. `other` counts unsupported methods and unreadable messages. */
export const MCP_METHODS = [
  'initialize',
  'ping',
  'server/discover',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'subscriptions/listen',
  'notification',
  'other',
] as const;
export type McpMethod = (typeof MCP_METHODS)[number];

export const MCP_OUTCOMES = ['success', 'tool_error', 'protocol_error', 'refused'] as const;
export type McpOutcome = (typeof MCP_OUTCOMES)[number];

export const MCP_METRICS = {
  mcpRequests: counter(
    'trailgate_mcp_requests_total',
    'MCP requests by method and outcome; tool_error: the tool reports an error; refused: an HTTP error.',
    [
      ['method', MCP_METHODS],
      ['outcome', MCP_OUTCOMES],
    ],
  ),
} as const;
