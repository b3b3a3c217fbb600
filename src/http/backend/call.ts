/** Defines calls to backends: one HTTP/1.1 request, and the callbacks that receive its response. */
import type { Readable } from 'node:stream';
import type { ResponseHead } from './response-head.js';

export interface Call {
  readonly method: string;
  /** Path and query for the request line. */
  readonly target: string;
  /**
   * Header field lines in Latin-1. Each line ends with CRLF. The lines must not contain `Host`, `Connection` or
   * `Transfer-Encoding`, which the connection writes itself. The connection does not check the lines, so the caller
   * must have validated every byte.
   */
  readonly fieldLines: string;
  /** Request body: a stream, or a Buffer with the complete body. `null` if the request has no body. */
  readonly body: Readable | Buffer | null;
  /**
   * Value of `Content-Length` in `fieldLines`, or -1 if `fieldLines` has none. With -1, a streamed body is sent in
   * chunks.
   */
  readonly bodyBytes: number;

  /**
   * Called when a connection has been assigned. The connection writes the request after this callback has returned,
   * unless the callback aborts the call.
   */
  onConnection(sending: Sending): void;
  /** Called when the complete request has been written to the socket. The socket may still buffer some of it. */
  onSent(): void;
  /** Called for each interim response (1xx). */
  onInterim(head: ResponseHead): void;
  /**
   * Called with the head of the final response. Then `onWhole` is called once, or `onData` any number of times, and
   * finally `onEnd`.
   */
  onHead(head: ResponseHead): void;
  /**
   * Called with a complete body that arrived together with its head. The buffer is reused for the next read. Its
   * content is valid until `onEnd` returns.
   */
  onWhole(body: Buffer): void;
  /**
   * Called with a piece of the body. The buffer is reused for the next read. Its content is valid until this callback
   * returns.
   */
  onData(piece: Buffer): void;
  /**
   * Called once if the body did not arrive completely with the head, after `onData` for the part that did. Not called
   * after `onWhole`.
   */
  onPartial(): void;
  /**
   * Called when the response is complete, and the request has been sent or is no longer needed.
   * @param trailerText validated trailer field lines of a chunked body, as received, each with its CRLF. Empty if there
   *   are none.
   */
  onEnd(trailerText: string): void;
  /**
   * Called when the response is complete before the request has been sent (RFC 9112 section 9.3). `onEnd` follows when
   * the rest of the request has been sent, `endUpload` is called, or the connection closes.
   */
  onAnswered(): void;
  /** Called when the call fails, also if one of the other callbacks throws. No callback follows. */
  onError(error: Error): void;
}

/**
 * Sending lets a call control its connection. Each method does nothing if the connection no longer serves the given
 * call.
 */
export interface Sending {
  /** Fails the call with `onError(reason)`, and closes the connection. */
  abort(call: Call, reason: Error): void;
  /** Stops reading the response. Callbacks for data that has already been read still follow. */
  pause(call: Call): void;
  resume(call: Call): void;
  /** Stops sending the request. Has an effect only after `onAnswered`. `onEnd` follows, and the connection closes. */
  endUpload(call: Call): void;
}
