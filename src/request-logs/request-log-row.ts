/** Fields of a logged request. Bodies, header fields, queries and actual paths are never logged. */

/** How a request came in: through the API, or through MCP. */
export const REQUEST_LOG_SOURCES = ['rest', 'mcp'] as const;
export type RequestLogSource = (typeof REQUEST_LOG_SOURCES)[number];

export interface EndedRequest {
  readonly requestId: string;
  readonly method: string | undefined;
  readonly operation: { readonly id: string; readonly template: string; readonly api?: string } | undefined;
  /** Error code of the response. Empty if there was none. */
  readonly problemCode: string;
  readonly clientAddress: string;
  /** Set for requests that did not come through the API, with the called tool (empty if none). */
  readonly source?: { readonly tool: string } | undefined;
  /** Bytes of the bodies received from and sent to the client. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

export interface RequestLogRow {
  readonly accountId: string;
  /** End of the request in milliseconds. */
  readonly at: number;
  /** Process that wrote the row, and its sequence number there, which increases in the order of ending requests. */
  readonly node: string;
  readonly seq: number;
  readonly requestId: string;
  readonly keyId: string;
  /** Empty if there is none, for example in responses of the gateway itself. */
  readonly operation: string;
  readonly method: string;
  /** Base path and path template of the operation. Empty if there is none. */
  readonly route: string;
  /** 499 if the client left before the response. */
  readonly status: number;
  readonly code: string;
  readonly durationUs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly ip: string;
  readonly source: RequestLogSource;
  /** Called tool, or empty. */
  readonly tool: string;
  /** Number of requests that the row represents: itself, and similar ones that were not kept. */
  readonly weight: number;
}
