/** Metrics of the MCP server: requests by method and outcome. */
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import type { McpMethod, McpOutcome } from '../platform/metrics/mcp-metrics.js';

type Series = Partial<Record<McpOutcome, ValueSeries>>;

const kept = new Map<McpMethod, Series>();

/** Counts a finished request. */
export function countCall(method: McpMethod, outcome: McpOutcome): void {
  let series = kept.get(method);
  if (series === undefined) kept.set(method, (series = {}));
  (series[outcome] ??= METRICS.mcpRequests.series(method, outcome)).inc();
}
