/**
 * Writes a response to the client piece by piece. If the length is known and the gateway's own parser serves the
 * connection, writes directly to the socket. Otherwise uses Node's response.
 */
import type { ServerResponse } from 'node:http';
import type { ResponseStream } from '../../http/client/client-response.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { passableTrailers, takesTrailers } from '../fields/trailers.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Head of a response to stream. */
export interface StreamedHead {
  readonly status: number;
  /** Field lines, each with its CRLF. */
  readonly lines: string;
  /** Whether `Content-Length` is set. */
  readonly isSized: boolean;
}

export class StreamedResponse {
  /** Writes directly to the socket; undefined if Node's response is used. */
  private readonly direct: ResponseStream | undefined;
  /** Whether Node's response is full and a `drain` listener is registered. */
  private isFull = false;

  /** Prepares the response. The first `write`, or `flush`, sends the head. @param onDrain see `write`. */
  constructor(
    private readonly request: ForwardRequest,
    { status, lines, isSized }: StreamedHead,
    private readonly onDrain: () => void,
  ) {
    const { response } = request.client;
    this.direct = isSized && response.canWriteWhole ? response.openStream?.(status, lines, onDrain) : undefined;
    if (this.direct === undefined) this.nodeResponse.writeHead(status, fieldsOfLines(lines));
  }

  /** Whether the response is written directly to the socket. The first piece is then sent with the head. */
  get isDirect(): boolean {
    return this.direct !== undefined;
  }

  /**
   * Writes a piece. The buffer is not used after this method returns. Returns false if the client reads too slowly.
   * `onDrain` is then called when more can be written.
   */
  write(piece: Buffer): boolean {
    if (this.direct !== undefined) return this.direct.write(piece);
    if (this.nodeResponse.write(Buffer.from(piece))) return true;
    // Pieces that were already read still arrive while the backend is paused. One listener serves all of them.
    if (!this.isFull) {
      this.isFull = true;
      this.nodeResponse.once('drain', () => this.onDrained());
    }
    return false;
  }

  private onDrained(): void {
    this.isFull = false;
    this.onDrain();
  }

  /** Sends the head of the response, unless the head has already been sent. */
  flush(): void {
    if (this.direct === undefined) this.nodeResponse.flushHeaders();
    else this.direct.flush();
  }

  /**
   * Sends the permitted trailers if the client accepts trailers. @param text trailer field lines, each with its CRLF.
   * @throws Error `TRAILGATE_BAD_ANSWER` for invalid lines.
   */
  addTrailers(text: string): void {
    const passed = passableTrailers(text);
    if (passed !== undefined && takesTrailers(this.request.message)) this.nodeResponse.addTrailers(passed);
  }

  /** Ends the response. @param body the last piece. Must be undefined if `isDirect`. */
  end(body: Buffer | undefined): void {
    if (this.direct === undefined) endResponse(this.nodeResponse, body);
    else this.direct.end();
  }

  private get nodeResponse(): ServerResponse {
    return this.request.client.response.nodeResponse;
  }
}

/** Ends a response of Node with the last piece of its body. */
export function endResponse(response: ServerResponse, body: Buffer | undefined): void {
  // For a Latin-1 string, Node joins head and body into one buffer. For a Buffer, Node would use writev.
  if (body === undefined || body.length === 0) response.end();
  else response.end(body.toString('latin1'), 'latin1');
}
