/** Interfaces of a client's request and of the response to it, independent of how the connection is read. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Request fields that the gateway reads, in Node's format. Repeated fields are joined only where Node joins them. The
 * gateway cannot read a field that is missing here. `plain-request.ts` parses the fields that plain requests need, and
 * leaves `content-type` in the field lines only.
 */
export interface ClientFields {
  readonly 'access-control-request-method'?: string | undefined;
  readonly authorization?: string | undefined;
  readonly 'content-length'?: string | undefined;
  readonly 'content-type'?: string | undefined;
  readonly expect?: string | undefined;
  readonly forwarded?: string | undefined;
  /** Replaced by the authority of the target, if the request line has an absolute URL. */
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

/** Common part of Node's `IncomingMessage` and the gateway's own request classes, such as `PlainRequest`. */
export interface ClientMessage extends Pick<
  IncomingMessage,
  'method' | 'url' | 'httpVersion' | 'httpVersionMajor' | 'rawHeaders' | 'complete' | 'socket'
> {
  readonly headers: ClientFields;
  /** The body, if it arrived completely with the head. */
  body?: Buffer | undefined;
  /** Field lines, each with its CRLF. If absent, use `rawHeaders`. */
  readonly lines?: string;
}

/** A response whose head is fixed and whose body is written in pieces. */
export interface ResponseStream {
  /**
   * Writes a piece. The buffer can be reused when this method returns.
   * @returns false if the client reads too slowly. `onDrain` is called when more can be written.
   */
  write(piece: Buffer): boolean;
  /** Sends the head, unless it has already been sent with a piece. */
  flush(): void;
  /** Ends the response. All bytes announced by `Content-Length` must have been written. */
  end(): void;
}

export interface ClientResponse {
  /** Whether the client has disconnected, or the response was cut. */
  readonly isGone: boolean;
  /** Whether any byte of the final response has been written. Interim responses do not count. */
  readonly hasBegun: boolean;
  /**
   * Whether `writeWhole` can be used. False for HTTP/1.0, after the response has begun, and after a field has been set
   * on `nodeResponse`.
   */
  readonly canWriteWhole: boolean;
  /**
   * Node's response object, for streaming. Reading this property hands the connection over to Node, unless Node already
   * has it.
   */
  readonly nodeResponse: ServerResponse;
  /**
   * Writes head and body in one piece and ends the response. Requires `canWriteWhole`.
   * @param lines field lines, each with its CRLF: with `Date` and the body's `Content-Length`, without `Connection`.
   * @param body a Buffer, which can be reused when this method returns, or a Latin-1 string.
   */
  writeWhole(status: number, lines: string, body: string | Buffer): void;
  /**
   * Starts a response that is written in pieces. Requires `canWriteWhole`. If this method is absent, use `nodeResponse`.
   * @param lines field lines, each with its CRLF: with `Date` and `Content-Length`, without `Connection`.
   * @param onDrain called when more can be written after `write` returned false.
   */
  openStream?(status: number, lines: string, onDrain: () => void): ResponseStream;
  /**
   * Records that the API key of the request was accepted. Only HTTP/2 has this method, where it lifts the limits for
   * clients without a key.
   */
  noteAdmitted?(): void;
  /** Makes this response the last one of its connection, and adds `Connection: close`. */
  endConnection(): void;
  /** Closes the connection immediately. Over HTTP/2, resets the stream. */
  destroy(): void;
}
