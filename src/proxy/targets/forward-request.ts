/** Types for the forwarder's input and its reports. */
import type { Operation } from '../../config/model/schema.js';
import type { KeyClaim } from '../../idempotency/key-claim.js';
import type { KeptResponse } from '../../idempotency/record.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';

/** A request that is ready to be forwarded. */
export interface ForwardRequest {
  readonly operation: Operation;
  /** Account of the caller, for `accountShare` of a service. */
  readonly accountId: string;
  readonly message: ClientMessage;
  /** Path and query relative to the base path, as received. */
  readonly path: string;
  /** Field lines for the backend, each with its CRLF, see `backendRequestHeaders`. */
  readonly fieldLines: string;
  /** Base path that was removed from the path, such as `/api/v1`. */
  readonly basePath: string;
  /** Whether the backend's CORS fields are dropped. */
  readonly ownCors: boolean;
  readonly client: ForwardClient;
  /** Set for requests with an `Idempotency-Key`. */
  kept?: KeptRequest;
}

/** The stored state of a request with an `Idempotency-Key`. */
export interface KeptRequest {
  readonly claim: KeyClaim;
  /** Returns the response that the client gets for a problem, in the form in which it is stored. */
  problemResponse(problem: Problem): KeptResponse;
}

/** ResponseCaller is a caller in this process that receives complete responses. */
export interface ResponseCaller {
  /** Largest body that it keeps, in bytes. Larger ones are truncated. */
  readonly mostBytes: number;
  /** Ends the call without a response. */
  takeProblem(problem: Problem): void;
}

/** State shared by the forwarder and the owner of the client's connection. */
export interface ForwardClient {
  /** Changes when Node takes over the connection. Read it each time. */
  readonly response: ClientResponse;
  /** The caller in this process; undefined for a client's connection. */
  readonly caller?: ResponseCaller | undefined;
  /** Field lines for every response to this request, each with its CRLF: request ID, limits. */
  readonly responseLines: string;
  /** The `Date` field line for a response that starts now, with its CRLF. */
  readonly dateLine: string;
  /** Arrival of the request, by `performance.now()`. */
  readonly startedMs: number;
  /** Total time of all attempts and the wait for a connection. Set before the response ends. */
  upstreamMs: number;
  /** Body bytes received from the client. */
  bytesIn: number;
  bytesOut: number;
  /** Whether the response was streamed. Its duration then also depends on how fast the client reads. */
  isStreamed: boolean;
  /** Whether the backend may have received any part of the request. Set before the first write. */
  wasSent: boolean;
  /** Target that failed or returned an error; otherwise empty. */
  failedTarget: string;
  failedStatus: number;
  /** Whether the connection has become a WebSocket. */
  isUpgraded: boolean;
  /** Notified when the client's connection closes or is done. Set while a call is in progress. */
  closeListener: CloseListener | undefined;
  /**
   * Signals that the response is complete but the request body was not fully sent. Called before the response ends,
   * which must then close the connection.
   */
  onUploadCut(): void;
  /** Responds with a problem. Nothing has been sent to the client yet. */
  onFailed(problem: Problem): void;
}

/** Listener for the end of a client's connection. */
export interface CloseListener {
  onClose(): void;
}
