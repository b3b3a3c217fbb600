/**
 * Defines the interfaces of a client's request and of the response to it. They do not depend on how the connection is
 * read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * ClientFields lists the request fields that the gateway reads, in Node's format. Repeated fields are joined only where
 * Node joins them. The gateway cannot read a field that is missing in this list. For plain requests, `plain-request.ts`
 * parses these fields, except for `content-type`, which is only in the field lines.
 */
export interface ClientFields {
  readonly 'access-control-request-method'?: string | undefined;
  readonly authorization?: string | undefined;
  readonly 'content-length'?: string | undefined;
  readonly 'content-type'?: string | undefined;
  readonly expect?: string | undefined;
  readonly forwarded?: string | undefined;
  /** Value of `Host`. If the request target is an absolute URL, replaced by the authority of the URL. */
  host?: string | undefined;
  readonly 'idempotency-key'?: string | undefined;
  readonly 'max-forwards'?: string | undefined;
  readonly origin?: string | undefined;
  readonly te?: string | undefined;
  readonly traceparent?: string | string[] | undefined;
  readonly 'transfer-encoding'?: string | undefined;
  readonly upgrade?: string | undefined;
  readonly 'x-forwarded-for'?: string | string[] | undefined;
  readonly 'x-forwarded-proto'?: string | string[] | undefined;
  readonly 'x-request-id'?: string | string[] | undefined;
}

/**
 * ClientMessage is the part that Node's `IncomingMessage` and the gateway's own request classes, such as
 * `PlainRequest`, have in common.
 */
export interface ClientMessage extends Pick<
  IncomingMessage,
  'method' | 'url' | 'httpVersion' | 'httpVersionMajor' | 'rawHeaders' | 'complete' | 'socket'
> {
  readonly headers: ClientFields;
  /**
   * The complete body, if it has already been read. Undefined if the body must be read as a stream, or if there is
   * none.
   */
  body?: Buffer | undefined;
  /** Field lines, each with its CRLF. Undefined for Node's requests, which have only `rawHeaders`. */
  readonly lines?: string;
}

/** ResponseStream writes a response body in pieces, after the head has been fixed. */
export interface ResponseStream {
  /**
   * Writes a piece of the body. The buffer can be reused when this method returns.
   * @returns false if the client reads too slowly. `onDrain` is called when more can be written.
   */
  write(piece: Buffer): boolean;
  /** Sends the head, unless the head was already sent with a piece. */
  flush(): void;
  /** Ends the response. The caller must have written all bytes that `Content-Length` announces. */
  end(): void;
}

export interface ClientResponse {
  /** Whether the client has disconnected, or the gateway has cut off the response. */
  readonly isGone: boolean;
  /** Whether the gateway has written any byte of the final response. Interim responses (1xx) are not considered. */
  readonly hasBegun: boolean;
  /**
   * Whether `writeWhole` can be used. False for HTTP/1.0, after the response has begun, and after a field has been set
   * on `nodeResponse`.
   */
  readonly canWriteWhole: boolean;
  /**
   * Node's response object, for streaming. Reading this property hands the connection over to Node, unless Node already
   * reads it.
   */
  readonly nodeResponse: ServerResponse;
  /**
   * Writes the head and the body in one piece, and ends the response. Requires `canWriteWhole`.
   * @param lines field lines, each with its CRLF: with `Date` and the body's `Content-Length`, without `Connection`.
   * @param body a Buffer, which can be reused when this method returns, or a Latin-1 string.
   */
  writeWhole(status: number, lines: string, body: string | Buffer): void;
  /**
   * Starts a response that is written in pieces. Requires `canWriteWhole`. If this method is missing, use
   * `nodeResponse`.
   * @param lines field lines, each with its CRLF: with `Date` and `Content-Length`, without `Connection`.
   * @param onDrain called when more can be written after `write` returned false.
   */
  openStream?(status: number, lines: string, onDrain: () => void): ResponseStream;
  /**
   * Records that the API key of the request was accepted. Only HTTP/2 responses have this method, which removes the
   * limits for clients without a key.
   */
  noteAdmitted?(): void;
  /** Makes this response the last one of its connection, and adds `Connection: close`. */
  endConnection(): void;
  /** Closes the connection immediately. Over HTTP/2, resets the stream. */
  destroy(): void;
}
