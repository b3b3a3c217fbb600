/**
 * Inner calls: API requests that the gateway makes itself for a client of another protocol, such as MCP. They pass all
 * steps, and are counted, forwarded, refunded and logged like requests from a connection. The response is returned as a
 * whole.
 */
import type { Operation } from '../../config/model/schema.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { EndpointRequest } from './endpoint-request.js';

/** InnerCall is an API request made by the gateway. */
export interface InnerCall {
  /** The expected operation. A URL that matches another operation is refused as not found. */
  readonly operation: Operation;
  /** Path and query, including the base path. */
  readonly url: string;
  /**
   * Header lines for the backend with lower-case names, each with its CRLF. Must not contain `Content-Length` or
   * headers that the gateway sets. An `idempotency-key` header has its usual effect.
   */
  readonly lines: string;
  readonly body: Buffer | undefined;
  /** The client's request, for which the call is made. It supplies the key, address, request ID, trace and `Host`. */
  readonly carrier: EndpointRequest;
  /**
   * The key of the carrier, if the key step accepted it in this turn of the event loop. If undefined, the key is looked
   * up again, because it may have been revoked since then.
   */
  readonly key: CachedKey | undefined;
  /** Name of the tool, for the log. */
  readonly tool: string;
  /** Maximum number of bytes of the response body. A larger body is cut, and the backend connection is closed. */
  readonly mostBytes: number;
}

/** InnerResponse is the response to an inner call. Valid only until the callback returns. */
export interface InnerResponse {
  /** Status code that a client would receive. */
  readonly status: number;
  /** Header lines, each with its CRLF. Empty if there is a problem. */
  readonly lines: string;
  /** The body, up to `mostBytes`. */
  readonly body: Buffer;
  /** Whether the body was cut. */
  readonly isCut: boolean;
  /** The error, if there is no response. */
  readonly problem: Problem | undefined;
  /** Header lines with the remaining quota, each with its CRLF. */
  readonly quotaLines: string;
}

/** RunningCall is an inner call in progress. */
export interface RunningCall {
  /**
   * Cancels the call as if the client had disconnected. The callback is then not called. Does nothing after the end of
   * the call.
   */
  cancel(): void;
}

/** InnerPath starts inner calls. */
export interface InnerPath {
  /**
   * Starts a call.
   * @param done called once, possibly before `begin` returns, unless the call is canceled. Must not throw.
   */
  begin(call: InnerCall, done: (response: InnerResponse) => void): RunningCall;
}
