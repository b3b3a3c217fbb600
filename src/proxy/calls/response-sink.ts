/**
 * The receiver of one backend response. `Forwarder.forward` chooses it once: `ClientSink` writes to the client's
 * connection, `CallerSink` gives the whole response to a caller in this process, and `KeptSink` has keepers store the
 * response before another sink delivers it.
 */
import type { ResponseHead } from '../../http/backend/response-head.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** RespondingCall is the call as its sink sees it. */
export interface RespondingCall {
  readonly request: ForwardRequest;
  readonly method: string;
  /** The backend that responds; undefined once its place has been given back. */
  readonly endpoint: Endpoint | undefined;
  readonly status: number;
  /** Whether all of the request's body has arrived. */
  readonly isBodyWhole: boolean;
  /** Whether the client has disconnected while the response is still awaited for keepers. */
  readonly isClientGone: boolean;
  /** Reports whether the response may be streamed. Aborts the call when its key has been revoked. */
  admitStream(): boolean;
  /** Records that the head has been given to the client. */
  markStreaming(): void;
  /** Stops reading from the backend until `resume`. */
  stall(): void;
  resume(): void;
  /** Ends the call as answered. Precedes the last write to the client. */
  finish(): void;
  /** Closes the backend's connection, because the rest of its response is not needed. */
  dropRest(): void;
  /** Gives back the target and stops the clock while keepers store the response. */
  beginKeeping(): void;
  /** Reports whether the stored response has to be delivered. */
  endKeeping(): boolean;
  /** Ends a call whose client has disconnected and whose response nobody keeps. */
  abandon(): void;
  onError(error: Error): void;
}

/** ResponseSink receives a response below 400. */
export interface ResponseSink {
  /** Whether the response is delivered only when it is complete. Its deadline then runs from its head on. */
  readonly isWholeOnly: boolean;
  /** Whether the response is needed even if the client disconnects. */
  readonly outlivesClient: boolean;
  /**
   * Begins the response.
   * @param lines field lines for the client, if another sink has made them already.
   */
  begin(call: RespondingCall, head: ResponseHead, lines?: string): void;
  /** Takes a complete body. The buffer is valid until `end` returns. */
  takeWhole(body: Buffer): void;
  /** Takes a piece of the body. The buffer is valid until this returns. */
  take(piece: Buffer): void;
  /**
   * Passes on what should not wait.
   * @param isComplete whether the whole body has been taken, while the request is still being sent.
   */
  flush(isComplete: boolean): void;
  /** @param trailerText field lines behind the body, each with its CRLF. */
  end(trailerText: string): void;
  /** Delivers a complete response at once, instead of `begin` to `end`. */
  deliver(call: RespondingCall, lines: string, body: Buffer): void;
}

/** Adds the length of a body that came without one. */
export function withLength(lines: string, bytes: number, isUnsized: boolean): string {
  return isUnsized ? `${lines}Content-Length: ${bytes}\r\n` : lines;
}
