/** What the MCP server counts: requests by method, and by what became of them. */
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import type { McpMethod, McpOutcome } from '../platform/mcp-metrics.js';

const kept = new Map<string, ValueSeries>();

/** Counts a request that has had its response. */
export function noteCall(method: McpMethod, outcome: McpOutcome): void {
  const name = `${method} ${outcome}`;
  let series = kept.get(name);
  if (series === undefined) kept.set(name, (series = METRICS.mcpRequests.series(method, outcome)));
  series.inc();
}
