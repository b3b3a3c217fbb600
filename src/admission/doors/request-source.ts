/** Origin of a request that came in by a door, for its log line and its row of the request log. */

/** RequestSource is the protocol of a request. Plain API requests have none. */
export interface RequestSource {
  readonly name: 'mcp';
  /** Name of the called tool. Empty if none was called. */
  readonly tool: string;
  /** Whether an inner call was made for the request. That call is counted and logged instead. */
  readonly isCarrier: boolean;
}
