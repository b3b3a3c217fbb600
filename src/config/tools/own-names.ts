/** Names of the MCP server's own tools, which tools of operations must not use. */

/** OWN_NAMES lists the tools that `src/mcp/tools/own-descriptions.ts` describes. */
export const OWN_NAMES: ReadonlySet<string> = new Set(['get_usage', 'search_operations', 'call_operation']);
