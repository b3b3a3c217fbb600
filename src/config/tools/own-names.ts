/** What the MCP server's own tools are called: names that tools of operations cannot have. */

/** They are described where the server is (`src/mcp/tools/own-descriptions.ts`). */
export const OWN_NAMES: ReadonlySet<string> = new Set(['get_usage', 'search_operations', 'call_operation']);
