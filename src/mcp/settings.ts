/** Settings of the MCP server. */

/** McpSettings holds the current settings. */
export interface McpSettings {
  readonly isOn: boolean;
  /** Display name in clients. */
  readonly name: string;
  /** Description of the API for assistants. */
  readonly instructions: string | undefined;
  /** Origins of pages that may send requests, in addition to the origin of the requested host. `*` allows all. */
  readonly allowedOrigins: readonly string[];
  /** Host names without a port. Loopback names are always allowed. */
  readonly allowedHosts: readonly string[];
  /** Maximum number of tools in `tools/list`. A key with more tools gets search tools instead. */
  readonly mostListed: number;
  /** Maximum size of a response body in a tool result, in bytes. */
  readonly mostResponseBytes: number;
}
