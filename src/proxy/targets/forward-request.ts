/** What the forwarder is given and what it reports. */
import type { Operation } from '../../config/model/schema.js';
import type { KeyClaim } from '../../idempotency/key-claim.js';
import type { KeptResponse } from '../../idempotency/record.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage, ClientResponse } from '../../http/client/client-response.js';

/** One request, ready to be sent. */
export interface ForwardRequest {
  readonly operation: Operation;
  /** Whose request it is; see `accountShare` of a service. */
  readonly accountId: string;
  readonly message: ClientMessage;
  /** Path and query relative to the base path, as received. */
  readonly path: string;
  /** Field lines for the backend, each with its CRLF, see `backendRequestHeaders`. */
  readonly fieldLines: string;
  /** `/api/v1`: what was taken off the path. */
  readonly basePath: string;
  /** Whether a backend's own fields of CORS are dropped. */
  readonly ownCors: boolean;
  readonly client: ForwardClient;
  /** Of a request with an `Idempotency-Key`, and of no other. */
  kept?: KeptRequest;
}

/** What is kept of a request, by its `Idempotency-Key`. */
export interface KeptRequest {
  readonly claim: KeyClaim;
  /** The response that its client gets where it is told a problem. */
  problemResponse(problem: Problem): KeptResponse;
}

/** ResponseCaller is a caller in this process that takes a response whole. */
export interface ResponseCaller {
  /** Largest body that it keeps, in bytes. Larger ones are cut. */
  readonly mostBytes: number;
  /** Ends the call with the reason why there is no response. */
  takeProblem(problem: Problem): void;
}

/** What the forwarder and whoever holds the client's connection tell each other. */
export interface ForwardClient {
  /** Another one when the connection becomes Node's: to be asked for each time. */
  readonly response: ClientResponse;
  /** Undefined for a response that goes to a client's connection. */
  readonly caller?: ResponseCaller | undefined;
  /** Field lines that every response to this request carries, each with its CRLF: request id, limits. */
  readonly responseLines: string;
  /** The field `Date` of a response that begins now, with its CRLF. */
  readonly dateLine: string;
  /** When the request came, by `performance.now()`. */
  readonly startedMs: number;
  /** Time that its backend took, all attempts and the wait for a connection together; set before the response ends. */
  upstreamMs: number;
  /** Of the bodies: read from the client, and written to it so far. */
  bytesIn: number;
  bytesOut: number;
  /** Whether the response went out in pieces: then its end is also a matter of how fast the client takes them. */
  isStreamed: boolean;
  /** Whether the backend may have seen anything of the request; set before it does. */
  wasSent: boolean;
  /** The target that failed, or answered with an error, and its status (0: none); only then set. */
  failedTarget: string;
  failedStatus: number;
  /** Whether the connection has become a WebSocket. */
  isUpgraded: boolean;
  /** Set while a call is under way; to be told when the client's connection is done or gone. */
  closeListener: CloseListener | undefined;
  /**
   * The response is whole, and the rest of the request's body has not been passed on. To be called before the response
   * ends, which is the last one of its connection then.
   */
  onUploadCut(): void;
  /** Nothing has been sent to the client, and it is to be answered with this. */
  onFailed(problem: Problem): void;
}

/** Who wants to know of the end of a client's connection. */
export interface CloseListener {
  onClose(): void;
}
