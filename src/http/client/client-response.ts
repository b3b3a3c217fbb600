/** The response to a client's request, and the request's fields, independent of how the connection is read. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Request fields that the gateway reads, in Node's format. Repeated fields are joined only where Node joins them. A
 * field that is missing here cannot be read. `plain-request.ts` keeps those that plain requests need. It leaves
 * `content-type` in the field lines only.
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

/** Common part of Node's `IncomingMessage` and `PlainRequest`. */
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
   * Writes a piece. The buffer can be reused when this returns.
   * @returns false if the client reads too slowly. `onDrain` is called when there is room again.
   */
  write(piece: Buffer): boolean;
  /** Sends the head, unless it has already left with a piece. */
  flush(): void;
  /** Ends the response. All bytes announced by `Content-Length` must have been written. */
  end(): void;
}

export interface ClientResponse {
  /** The client has disconnected, or the response was cut. */
  readonly isGone: boolean;
  /** Whether any byte of the final response has been written. Interim responses do not count. */
  readonly hasBegun: boolean;
  /** Whether `writeWhole` can be used: the client speaks HTTP/1.1, and no field has been set on `nodeResponse`. */
  readonly takesWhole: boolean;
  /**
   * Node's response object, for streaming. Reading this property hands the connection over to Node, if that has not
   * happened yet.
   */
  readonly nodeResponse: ServerResponse;
  /**
   * Writes head and body in one piece and ends the response. Requires `takesWhole`.
   * @param lines field lines, each with its CRLF: with `Date` and the body's `Content-Length`, without `Connection`.
   * @param body a Buffer, which can be reused when this returns, or a Latin-1 string.
   */
  writeWhole(status: number, lines: string, body: string | Buffer): void;
  /**
   * Starts a response that is written in pieces. Requires `takesWhole`. If this method is absent, use `nodeResponse`.
   * @param lines field lines, each with its CRLF: with `Date` and `Content-Length`, without `Connection`.
   * @param onDrain called when there is room again after `write` returned false.
   */
  openStream?(status: number, lines: string, onDrain: () => void): ResponseStream;
  /** Records that the request's key was accepted. HTTP/2 only, where it lifts the limits for clients without a key. */
  noteAdmitted?(): void;
  /** Makes this the last response of its connection and says so in its fields. */
  endConnection(): void;
  /** Closes the connection immediately. */
  destroy(): void;
}
