/** What the configuration says of the MCP server. */

/** McpSettings are those in force. */
export interface McpSettings {
  readonly isOn: boolean;
  /** What clients show. */
  readonly name: string;
  /** For assistants: what the API is good for. */
  readonly instructions: string | undefined;
  /** Origins of pages that may ask, beside those of the host that was asked. */
  readonly allowedOrigins: readonly string[];
  /** Names under which it may be asked, without a port; a loopback name always may. */
  readonly allowedHosts: readonly string[];
  /** Tools that a key is shown one by one; beyond, they are searched. */
  readonly mostListed: number;
  /** Of a response's body, in a tool's result. */
  readonly mostResponseBytes: number;
}
