/**
 * Defines inner calls: API requests that the gateway makes for a client of another protocol, such as MCP. The gateway
 * checks, counts, forwards, refunds and logs an inner call like a client request. The caller receives the complete
 * response.
 */
import type { Operation } from '../../config/model/schema.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { EndpointRequest } from './endpoint-request.js';

/** InnerCall is an API request that the gateway makes for an endpoint. */
export interface InnerCall {
  /** Operation that the caller intends to call. If the URL matches another operation, the call is refused with 404. */
  readonly operation: Operation;
  /** Path and query of the API request, including the base path. */
  readonly url: string;
  /**
   * Header lines for the backend, with lower-case names. Each line ends with CRLF. The lines must not contain
   * `Content-Length` or headers that the gateway sets. An `idempotency-key` header has its usual effect.
   */
  readonly lines: string;
  readonly body: Buffer | undefined;
  /** The client's request that caused the call. The call has its key, address, request ID, trace and `Host`. */
  readonly carrier: EndpointRequest;
  /**
   * Key of the carrier, if the key step accepted it in this turn of the event loop. If undefined, the key step runs
   * again, because the key may have been revoked in the meantime.
   */
  readonly key: CachedKey | undefined;
  /** Name of the tool that causes the call, for the log. */
  readonly tool: string;
  /** Maximum size of the response body in bytes. A larger body is truncated, and the backend connection is closed. */
  readonly mostBytes: number;
}

/** InnerResponse is the response to an inner call. The object is valid only until the callback returns. */
export interface InnerResponse {
  /** Status code that a client would receive. */
  readonly status: number;
  /** Header lines of the response. Each line ends with CRLF. Empty if `problem` is set. */
  readonly lines: string;
  /** Body of the response, up to `mostBytes`. Empty if `problem` is set. */
  readonly body: Buffer;
  /** Whether the body was truncated. */
  readonly isCut: boolean;
  /**
   * Error of a call that a step refused, that failed, or to which the backend responded with an error. Otherwise
   * undefined.
   */
  readonly problem: Problem | undefined;
  /** Header lines with the remaining quota. Each line ends with CRLF. */
  readonly quotaLines: string;
}

/** RunningCall lets the caller cancel an inner call. */
export interface RunningCall {
  /**
   * Cancels the call as if the client had disconnected. The callback is then never called. Does nothing if the call has
   * already ended.
   */
  cancel(): void;
}

/** InnerPath starts inner calls. */
export interface InnerPath {
  /**
   * Starts an inner call.
   * @param done called once with the response, possibly before `begin` returns. Not called if the call is canceled.
   *   Must not throw.
   */
  begin(call: InnerCall, done: (response: InnerResponse) => void): RunningCall;
}
