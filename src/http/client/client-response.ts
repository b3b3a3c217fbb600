/**
 * The response to one request of a client, however its connection is read; and what is asked of a request, likewise.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Problem } from '../../platform/problems/errors.js';

/**
 * The fields of a request that a gateway looks at, in the form that Node gives them: several of a name are one here
 * only where Node joins them. A name that is missing here cannot be asked for: `plain-request.ts` keeps these alone,
 * but for `content-type`.
 */
export interface ClientFields {
  readonly 'access-control-request-method'?: string | undefined;
  readonly authorization?: string | undefined;
  readonly 'content-length'?: string | undefined;
  readonly 'content-type'?: string | undefined;
  readonly expect?: string | undefined;
  readonly forwarded?: string | undefined;
  /** Of an absolute target the authority takes its place. */
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

/** What Node's `IncomingMessage` and `PlainRequest` have in common. */
export interface ClientMessage extends Pick<
  IncomingMessage,
  'method' | 'url' | 'httpVersion' | 'httpVersionMajor' | 'rawHeaders' | 'complete' | 'socket'
> {
  readonly headers: ClientFields;
  /** Its body, where that has come as a whole with its head. */
  body?: Buffer | undefined;
  /** Its field lines, each with its CRLF, where they are at hand; else `rawHeaders` has them. */
  readonly lines?: string;
}

/** A response whose head has been told, and whose body goes out in pieces. */
export interface ResponseStream {
  /**
   * Writes a piece, which is of no use to it when this has returned. False: the client reads more slowly than it is
   * written to, and is told of by `onDrain`.
   */
  write(piece: Buffer): boolean;
  /** Sends the head, if it has not left with a piece. */
  flush(): void;
  /** All that `Content-Length` says has been written. */
  end(): void;
}

export interface ClientResponse {
  /** The client has gone, or the response was cut. */
  readonly isGone: boolean;
  /** Whether a byte of the response has been written, other than of an interim one. */
  readonly hasBegun: boolean;
  /** Whether `writeWhole` may write it: HTTP/1.1, and nobody has set a field on the response. */
  readonly takesWhole: boolean;
  /**
   * Only where the response is of use as a whole alone, and nothing of it can be streamed: how many bytes of its body
   * are kept. `writeCut` takes those of a larger one, and `writeProblem` what else would be written as bytes.
   */
  readonly mostWholeBytes?: number;
  /** Node's, for whatever streams. Asking for it makes the connection Node's, where it was not. */
  readonly nodeResponse: ServerResponse;
  /**
   * Writes head and body in one piece and ends the response, where `takesWhole`.
   * @param lines its fields, each with its CRLF: with `Date` and the
   * `Content-Length` of the body, without `Connection`.
   * @param body bytes, which are of no use to it when this has returned; a text is Latin-1, byte for byte.
   */
  writeWhole(status: number, lines: string, body: string | Buffer): void;
  /**
   * Begins a response that comes in pieces, where `takesWhole`; not there: it is Node's to write.
   * @param lines its fields, each with its CRLF: with `Date` and `Content-Length`, without `Connection`.
   * @param onDrain called when there is room again, after a `write` that was false.
   */
  openStream?(status: number, lines: string, onDrain: () => void): ResponseStream;
  /** Writes head and the beginning of a body that is larger than `mostWholeBytes`, and ends the response. */
  writeCut?(status: number, lines: string, body: Buffer): void;
  /** Ends the response with why there is none. */
  writeProblem?(problem: Problem): void;
  /** Records that the request's key has been accepted. HTTP/2 only: it limits what clients without a key can hold. */
  noteAdmitted?(): void;
  /** No other request is served behind this one; the response says so. */
  endConnection(): void;
  /** Cuts the connection. */
  destroy(): void;
}
