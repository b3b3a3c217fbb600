/**
 * Defines how a call passes its response to a sink. `ClientSink` writes to the client's connection, and `CallerSink` to
 * a caller in this process. `RecorderSink` lets recorders store the response before one of these sinks delivers the
 * response.
 */
import type { ResponseHead } from '../../http/backend/response-head.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** RespondingCall lets a sink read the state of its call and control the call. */
export interface RespondingCall {
  readonly request: ForwardRequest;
  readonly method: string;
  /** The address that responds; undefined after the call has released its slot at this address. */
  readonly endpoint: Endpoint | undefined;
  readonly status: number;
  /** Whether the whole request body has been received. */
  readonly isBodyWhole: boolean;
  /** Whether the client has disconnected while recorders still need the response. */
  readonly isClientGone: boolean;
  /**
   * Reports whether the sink may stream the response. If the API key was revoked, aborts the call and returns false.
   */
  admitStream(): boolean;
  /** Records that the sink streams the response. From then on, a failure cuts off the response. */
  markStreaming(): void;
  /** Stops reading from the backend until `resume`. */
  stall(): void;
  resume(): void;
  /** Ends the call successfully. Sinks call this before the last write to the client. */
  finish(): void;
  /** Closes the backend connection instead of reading the rest of the response. */
  dropRest(): void;
  /** Releases the target and clears the deadline. Call this before recorders store the response. */
  beginRecording(): void;
  /** Records that recorders have stored the response. Reports whether the client can still receive the response. */
  endRecording(): boolean;
  /** Aborts a call whose client has disconnected, because no recorder needs the response. */
  abandon(): void;
  onError(error: Error): void;
}

/** ResponseSink receives one response with a status below 400. */
export interface ResponseSink {
  /**
   * Whether the sink delivers a response in one piece after the whole body has arrived. Body pieces then do not extend
   * the deadline.
   */
  readonly deliversOnlyComplete: boolean;
  /** Whether recorders may need the response even if the client disconnects. */
  readonly outlivesClient: boolean;
  /**
   * Starts the response.
   * @param lines field lines for the client, if another sink already built them.
   */
  begin(call: RespondingCall, head: ResponseHead, lines?: string): void;
  /** Accepts a body that arrived in one piece. The buffer is valid until `end` returns. */
  addWhole(body: Buffer): void;
  /** Accepts a piece of the body. The buffer is valid until this method returns. */
  addPiece(piece: Buffer): void;
  /**
   * Sends held data that should not wait for more data.
   * @param isComplete whether the body is complete while the request is still being sent.
   */
  flush(isComplete: boolean): void;
  /** Ends the response. @param trailerText trailer field lines, each with its CRLF. */
  end(trailerText: string): void;
  /** Delivers a complete response in one call, instead of `begin` to `end`. */
  deliver(call: RespondingCall, lines: string, body: Buffer): void;
}

/** Adds `Content-Length` to field lines if the backend did not send this field. @param bytes size of the body. */
export function withLength(lines: string, bytes: number, isUnsized: boolean): string {
  return isUnsized ? `${lines}Content-Length: ${bytes}\r\n` : lines;
}
