/** One HTTP/1.1 request to a backend, and the callbacks that receive its response. */
import type { Readable } from 'node:stream';
import type { ResponseHead } from './response-head.js';

export interface Call {
  readonly method: string;
  /** Path and query, as sent in the request line. */
  readonly target: string;
  /**
   * Header field lines in Latin-1, each with its CRLF. Must not contain `Host`, `Connection` or `Transfer-Encoding`:
   * the connection writes those. The lines go out unchecked, so the caller must have validated every byte.
   */
  readonly fieldLines: string;
  /** A Buffer is the complete body. `null` means that the request has no body. */
  readonly body: Readable | Buffer | null;
  /** Value of `Content-Length` in `fieldLines`, or -1 if there is none. With -1, the body is sent chunked. */
  readonly bodyBytes: number;

  /**
   * Called when a connection has been assigned. The request is written when this callback returns, unless the callback
   * aborted the call.
   */
  onConnection(sending: Sending): void;
  /** Called when the whole request has been handed to the socket. */
  onSent(): void;
  /** Called for each interim response (1xx). */
  onInterim(head: ResponseHead): void;
  /** Called with the head of the final response. `onWhole` or any number of `onData` follow, and then `onEnd`. */
  onHead(head: ResponseHead): void;
  /**
   * Called with a body that arrived completely together with its head. The buffer is reused for the next read. It is
   * valid until `onEnd` returns.
   */
  onWhole(body: Buffer): void;
  /**
   * Called with a piece of the body. The buffer is reused for the next read. It is valid until this callback returns.
   */
  onData(piece: Buffer): void;
  /**
   * Called after the part of the body that arrived with the head, if more of the body will arrive. Not called after
   * `onWhole`.
   */
  onPartial(): void;
  /**
   * Called when the response is complete, and the request has been sent or is no longer needed.
   * @param trailerText validated trailer field lines of a chunked body, as sent, each with its CRLF. Empty if there are
   *   none.
   */
  onEnd(trailerText: string): void;
  /**
   * Called when the response is complete before the request has been sent (RFC 9112 section 9.3). `onEnd` follows once
   * the rest of the request has been sent, the upload is ended, or the connection closes.
   */
  onAnswered(): void;
  /**
   * Called instead of `onEnd` when the call fails. No callback follows. Also called with an error that one of the
   * callbacks above has thrown.
   */
  onError(error: Error): void;
}

/**
 * Sending lets a call control its connection. The methods do nothing once the connection no longer serves the call. A method does nothing if the connection no longer serves the
 * given call.
 */
export interface Sending {
  /** Fails the call with `onError(reason)` and closes the connection. */
  abort(call: Call, reason: Error): void;
  /** Stops reading the response. Data that has already been read is still delivered. */
  pause(call: Call): void;
  resume(call: Call): void;
  /** Stops sending the request after its response is complete. `onEnd` follows, and the connection closes. */
  endUpload(call: Call): void;
}
