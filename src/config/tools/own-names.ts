/** Names of the MCP server's own tools, which operations cannot use. */

/** The tools are described in `src/mcp/tools/own-descriptions.ts`. */
export const OWN_NAMES: ReadonlySet<string> = new Set(['get_usage', 'search_operations', 'call_operation']);
