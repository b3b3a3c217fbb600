/**
 * Defines the source of a request that came through a mounted endpoint. The source appears in the log line and the
 * request log.
 */

/**
 * RequestSource names the protocol of a request and the tool that it calls. Client requests to the API have no source.
 */
export interface RequestSource {
  readonly name: 'mcp';
  /** Name of the tool. Empty if the request calls no tool. */
  readonly tool: string;
  /** Whether the gateway made an inner call for the request. If so, only the inner call is counted and logged. */
  readonly isCarrier: boolean;
}
