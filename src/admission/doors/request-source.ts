/** By what a request has come in, where that is another plane's door: for its log line and its row of the log. */

/** RequestSource is the protocol that a request stands in; a request of the API itself has none. */
export interface RequestSource {
  readonly name: 'mcp';
  /** The tool that was called; empty: none was. */
  readonly tool: string;
  /** Whether another request has been made of it, which is counted and logged in its place. */
  readonly isCarrier: boolean;
}
