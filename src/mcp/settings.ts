/** Settings of the MCP server. */

/** McpSettings holds the current settings. */
export interface McpSettings {
  readonly isOn: boolean;
  /** Display name in clients. */
  readonly name: string;
  /** Description of the API for assistants. */
  readonly instructions: string | undefined;
  /** Origins that may send requests, in addition to the requested host's own. */
  readonly allowedOrigins: readonly string[];
  /** Host names without a port. Loopback names are always allowed. */
  readonly allowedHosts: readonly string[];
  /** Maximum number of tools in `tools/list`. Keys with more tools use a search. */
  readonly mostListed: number;
  /** Maximum size of a response body in a tool result. */
  readonly mostResponseBytes: number;
}
