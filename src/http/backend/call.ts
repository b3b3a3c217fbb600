/** One request and whoever waits for its response, as a connection sees them. */
import type { Readable } from 'node:stream';
import type { ResponseHead } from './response-head.js';

export interface Call {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  /**
   * Field lines, each with its CRLF, in Latin-1; without `Host`, `Connection` and `Transfer-Encoding`, which the
   * connection writes. Whoever makes them has looked at every byte.
   */
  readonly fieldLines: string;
  /** Bytes: all of it; null: no body follows. */
  readonly body: Readable | Buffer | null;
  /**
   * What `Content-Length` among the field lines says of the body; -1: it is not there, and the body goes out in chunks.
   */
  readonly bodyBytes: number;

  /** A connection has been found; it is written to when this returns, unless the call has been aborted. */
  onConnection(sending: Sending): void;
  /** The whole request has been handed to the connection. */
  onSent(): void;
  /** A response before the response (1xx); may come more than once. */
  onInterim(head: ResponseHead): void;
  /** Followed by `onWhole`, or by any number of `onData`, and `onEnd`. */
  onHead(head: ResponseHead): void;
  /**
   * A body that arrived whole together with its head. It is overwritten by what
   * is read next: of use until `onEnd` has returned.
   */
  onWhole(body: Buffer): void;
  /** A piece of a body. It is overwritten by what is read next: of use until this has returned. */
  onData(piece: Buffer): void;
  /** What has come together with the head has been told, and there is more to come. Not where `onWhole` was called. */
  onPartial(): void;
  /**
   * @param trailerText lines behind a chunked body, each with its CRLF; as they were sent, and fields to the letter.
   */
  onEnd(trailerText: string): void;
  /**
   * The response is whole, and the rest of the request has not left yet (RFC 9112 section 9.3). `onEnd` follows when
   * that is over: all of it has left, or the server has closed the connection.
   */
  onAnswered(): void;
  /** The only end where there is no `onEnd`; nothing follows. What the handlers above throw comes back here. */
  onError(error: Error): void;
}

/** The connection that serves a call, as the call may handle it. Does nothing for a call that it no longer serves. */
export interface Sending {
  /** Ends the call with `onError(reason)`, and the connection with it. */
  abort(call: Call, reason: Error): void;
  /** Reads no more of the response; what has been read still arrives. */
  pause(call: Call): void;
  resume(call: Call): void;
  /** Sends no more of the request, whose response is whole: `onEnd` follows, and the connection closes. */
  endUpload(call: Call): void;
}
