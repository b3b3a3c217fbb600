/** Origin of a request that came through an endpoint, for its log line and its row in the request log. */

/** RequestSource is the protocol of a request, and the tool that it calls. Plain API requests have no source. */
export interface RequestSource {
  readonly name: 'mcp';
  /** Name of the called tool. Empty if none was called. */
  readonly tool: string;
  /** Whether an inner call was made for the request. The inner call is then counted and logged instead. */
  readonly isCarrier: boolean;
}
