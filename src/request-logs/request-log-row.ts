/** What the log keeps of one request. Never a body, a header field, a query or the path itself. */

/** By what requests come in: the API itself, or the Model Context Protocol. */
export const REQUEST_LOG_SOURCES = ['rest', 'mcp'] as const;
export type RequestLogSource = (typeof REQUEST_LOG_SOURCES)[number];

/** A request that has ended, as whoever ended it knows it. */
export interface EndedRequest {
  readonly requestId: string;
  readonly method: string | undefined;
  readonly operation: { readonly id: string; readonly template: string } | undefined;
  /** Of the problem that the client was told; empty where there was none. */
  readonly problemCode: string;
  readonly clientAddress: string;
  /** Of a request that came in by another door than that of the API; the tool that was called, empty for none. */
  readonly source?: { readonly tool: string } | undefined;
  /** Of the body: read from the client, and written to it. */
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** RequestLogRow is a row of the log. */
export interface RequestLogRow {
  readonly accountId: string;
  /** When the request ended, ms. */
  readonly at: number;
  /** The process that wrote it, and its number there: grows in the order in which requests end. */
  readonly node: string;
  readonly seq: number;
  readonly requestId: string;
  readonly keyId: string;
  /** Empty where there is none: what the gateway answers itself. */
  readonly operation: string;
  readonly method: string;
  /** The path that the operation was declared with, and the base path in front of it; empty where there is none. */
  readonly route: string;
  /** 499: the client left before it had its response. */
  readonly status: number;
  readonly code: string;
  readonly durationUs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly ip: string;
  /** By what it has come in. */
  readonly source: RequestLogSource;
  /** The tool that was called; empty where there is none. */
  readonly tool: string;
  /** How many requests it stands for: itself, and others like it that were left out. */
  readonly weight: number;
}
