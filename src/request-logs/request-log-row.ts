/** Defines the fields of the request log. The log never contains bodies, header fields, queries or actual paths. */

/** Sources of a request: `rest` for a direct request to the API, `mcp` for a tool call through MCP. */
export const REQUEST_LOG_SOURCES = ['rest', 'mcp'] as const;
export type RequestLogSource = (typeof REQUEST_LOG_SOURCES)[number];

/** A request that has ended, as the recorder receives it. */
export interface EndedRequest {
  readonly requestId: string;
  readonly method: string | undefined;
  /** Undefined if the request matched no operation. */
  readonly operation: { readonly id: string; readonly template: string; readonly api?: string } | undefined;
  /** Error code of the response; empty without an error. */
  readonly problemCode: string;
  readonly clientAddress: string;
  /** Set for requests through MCP. `tool` is the called tool; empty if no tool was called. */
  readonly source?: { readonly tool: string } | undefined;
  /** Body bytes received from the client (`bytesIn`) and sent to the client (`bytesOut`). */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** A row to write. */
export interface RequestLogRow {
  readonly accountId: string;
  /** End of the request in milliseconds since the epoch. */
  readonly at: number;
  /**
   * ID of the process that recorded the request. `seq` numbers the ended requests of this process in ascending order.
   */
  readonly node: string;
  readonly seq: number;
  readonly requestId: string;
  readonly keyId: string;
  /** Operation ID; empty if the request has no operation, for example for the gateway's own endpoints. */
  readonly operation: string;
  readonly method: string;
  /** Base path and path template of the operation; empty if the request has no operation. */
  readonly route: string;
  /** Status of the response; 499 if the client disconnected before the response. */
  readonly status: number;
  /** Error code; empty without an error. */
  readonly code: string;
  /** Duration in microseconds. */
  readonly durationUs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly ip: string;
  readonly source: RequestLogSource;
  /** Called MCP tool; empty if no tool was called. */
  readonly tool: string;
  /** Number of requests that the row represents: this request, and requests of the same kind that were not kept. */
  readonly weight: number;
}
