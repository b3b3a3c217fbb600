/** What the MCP server counts: requests by method, and by what became of them. */
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import type { McpMethod, McpOutcome } from '../platform/metrics/mcp-metrics.js';

type Series = Partial<Record<McpOutcome, ValueSeries>>;

const kept = new Map<McpMethod, Series>();

/** Counts a request that has had its response. */
export function noteCall(method: McpMethod, outcome: McpOutcome): void {
  let series = kept.get(method);
  if (series === undefined) kept.set(method, (series = {}));
  (series[outcome] ??= METRICS.mcpRequests.series(method, outcome)).inc();
}
