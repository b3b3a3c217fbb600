/**
 * The receiver of one backend response. `Forwarder.forward` chooses it once. `ClientSink` writes to the client's
 * connection. `CallerSink` gives the whole response to a caller in this process. `KeptSink` has keepers store the
 * response before another sink delivers it.
 */
import type { ResponseHead } from '../../http/backend/response-head.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** RespondingCall is the call as its sink sees it. */
export interface RespondingCall {
  readonly request: ForwardRequest;
  readonly method: string;
  /** The address that responds; undefined once the call has released it. */
  readonly endpoint: Endpoint | undefined;
  readonly status: number;
  /** Whether the whole request body has been received. */
  readonly isBodyWhole: boolean;
  /** Whether the client has disconnected while keepers still need the response. */
  readonly isClientGone: boolean;
  /** Reports whether the response may be streamed. Aborts the call when its key has been revoked. */
  admitStream(): boolean;
  /** Records that the head has been given to the client. */
  markStreaming(): void;
  /** Stops reading from the backend until `resume`. */
  stall(): void;
  resume(): void;
  /** Ends the call successfully. Call it before the last write to the client. */
  finish(): void;
  /** Closes the backend's connection instead of reading the rest of the response. */
  dropRest(): void;
  /** Releases the target and clears the deadline while keepers store the response. */
  beginKeeping(): void;
  /** Reports whether the client is still there to receive the stored response. */
  endKeeping(): boolean;
  /** Ends a call whose client has disconnected and whose response no keeper needs. */
  abandon(): void;
  onError(error: Error): void;
}

/** ResponseSink receives a response below 400. */
export interface ResponseSink {
  /** Whether the response is delivered only once complete. Its deadline is then not extended by each piece. */
  readonly isWholeOnly: boolean;
  /** Whether the response is needed even if the client disconnects. */
  readonly outlivesClient: boolean;
  /**
   * Starts the response.
   * @param lines field lines for the client, if another sink already built them.
   */
  begin(call: RespondingCall, head: ResponseHead, lines?: string): void;
  /** Accepts a complete body. The buffer is valid until `end` returns. */
  addWhole(body: Buffer): void;
  /** Accepts a piece of the body. The buffer is valid until this method returns. */
  addPiece(piece: Buffer): void;
  /**
   * Sends data that should not wait for more.
   * @param isComplete whether the body is complete while the request is still being sent.
   */
  flush(isComplete: boolean): void;
  /** Ends the response. @param trailerText trailer field lines, each with its CRLF. */
  end(trailerText: string): void;
  /** Delivers a complete response in one call, instead of `begin` to `end`. */
  deliver(call: RespondingCall, lines: string, body: Buffer): void;
}

/** Adds `Content-Length` if the backend did not send one. */
export function withLength(lines: string, bytes: number, isUnsized: boolean): string {
  return isUnsized ? `${lines}Content-Length: ${bytes}\r\n` : lines;
}
