/** Defines the settings of the MCP server. */

/** McpSettings holds the settings of the current configuration. */
export interface McpSettings {
  readonly isOn: boolean;
  /** Name of the server that clients display. */
  readonly name: string;
  /** Description of the API for assistants. Undefined to use the default text. */
  readonly instructions: string | undefined;
  /**
   * Origins of pages that may send requests, in addition to the origin of the requested host. `*` allows all origins.
   */
  readonly allowedOrigins: readonly string[];
  /** Host names that requests may use, without a port. IP addresses and loopback names are always allowed. */
  readonly allowedHosts: readonly string[];
  /** Maximum number of API operations in `tools/list`. A key with more operations gets search tools instead. */
  readonly mostListed: number;
  /** Maximum size of the response body in a tool result, in bytes. */
  readonly mostResponseBytes: number;
}
