/** Types that the forwarder shares with its callers: requests, and the state that the forwarder reports back. */
import type { Operation } from '../../config/model/schema.js';
import type { KeyClaim } from '../../idempotency/key-claim.js';
import type { StoredResponse } from '../../idempotency/record.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';

/** A request that is ready to be forwarded. */
export interface ForwardRequest {
  readonly operation: Operation;
  /** Account of the caller, whose share of a service is limited (`accountShare`). */
  readonly accountId: string;
  readonly message: ClientMessage;
  /** Path and query relative to the base path, as received. */
  readonly path: string;
  /** Field lines for the backend, each with its CRLF; see `backendRequestHeaders`. */
  readonly fieldLines: string;
  /** Base path that was removed from the path, such as `/api/v1`. */
  readonly basePath: string;
  /** Whether the gateway sets the CORS fields itself and drops the backend's. */
  readonly ownCors: boolean;
  readonly client: ForwardClient;
  /** Set for requests with an `Idempotency-Key`. */
  idempotency?: IdempotencyContext;
}

/** IdempotencyContext contains the claim of a request with an `Idempotency-Key`, and formats responses to store. */
export interface IdempotencyContext {
  readonly claim: KeyClaim;
  /** Returns the response that the client receives for a problem, in the format of the store. */
  problemResponse(problem: Problem): StoredResponse;
}

/** ResponseCaller is a caller in this process, such as an MCP tool call, that receives complete responses. */
export interface ResponseCaller {
  /** Maximum body size in bytes. Larger bodies are truncated. */
  readonly mostBytes: number;
  /** Receives the problem of a call that ended without a response. */
  receiveProblem(problem: Problem): void;
}

/** State shared by the forwarder and the owner of the client's connection. */
export interface ForwardClient {
  /** The response. Read this property each time, because the object changes when Node takes over the connection. */
  readonly response: ClientResponse;
  /** The caller in this process; undefined for a client's connection. */
  readonly caller?: ResponseCaller | undefined;
  /** Field lines for any response to this request, each with its CRLF: request ID and limits. */
  readonly responseLines: string;
  /** The `Date` field line for a response that starts now, with its CRLF. */
  readonly dateLine: string;
  /** Arrival of the request, by `performance.now()`. */
  readonly startedMs: number;
  /**
   * Total milliseconds of all attempts, and of the wait for a connection. Negative until the first attempt has ended.
   */
  upstreamMs: number;
  /** Body bytes received from the client. */
  bytesIn: number;
  /** Body bytes sent to the client. */
  bytesOut: number;
  /** Whether the response was streamed. Its duration then also depends on how fast the client reads. */
  isStreamed: boolean;
  /** Whether a backend may have received any part of the request. Set before the first write. */
  wasSent: boolean;
  /** Target that failed or returned an error; otherwise empty. */
  failedTarget: string;
  /** Status of the target's error response; 0 without one. */
  failedStatus: number;
  /** Whether the connection has become a WebSocket. */
  isUpgraded: boolean;
  /** Notified when the client's connection closes. Set while a call or WebSocket is in progress. */
  closeListener: CloseListener | undefined;
  /**
   * Called before the end of a response whose request body was not sent completely. The end of the response must then
   * close the connection, except with HTTP/2.
   */
  onUploadCut(): void;
  /**
   * Responds with a problem, unless the client has disconnected. Called only before the head of a response was sent to
   * the client.
   */
  onFailed(problem: Problem): void;
}

/** Listener for the end of a client's connection. */
export interface CloseListener {
  onClose(): void;
}
