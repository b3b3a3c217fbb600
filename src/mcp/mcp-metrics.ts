/** Counts the requests to the MCP server by method and outcome. */
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import type { McpMethod, McpOutcome } from '../platform/metrics/mcp-metrics.js';

type Series = Partial<Record<McpOutcome, ValueSeries>>;

const seriesByMethod = new Map<McpMethod, Series>();

/** Counts a request to the MCP server. */
export function countCall(method: McpMethod, outcome: McpOutcome): void {
  let series = seriesByMethod.get(method);
  if (series === undefined) seriesByMethod.set(method, (series = {}));
  (series[outcome] ??= METRICS.mcpRequests.series(method, outcome)).inc();
}
