/**
 * Writes a response to the client piece by piece. It writes directly to the socket if the length is known and the
 * gateway's own parser serves the connection. Otherwise it uses Node's response.
 */
import type { ServerResponse } from 'node:http';
import type { ResponseStream } from '../../http/client/client-response.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { passableTrailers, takesTrailers } from '../fields/trailers.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Head of a response. */
export interface StreamedHead {
  readonly status: number;
  /** Field lines, each with its CRLF. */
  readonly lines: string;
  /** Whether `Content-Length` is set. */
  readonly isSized: boolean;
}

export class StreamedResponse {
  private readonly byHand: ResponseStream | undefined;
  /** Whether Node's response is full and a `drain` listener is registered. */
  private isFull = false;

  /** Starts the response. The head is sent with the first piece, or with `flush`. @param onDrain see `write`. */
  constructor(
    private readonly request: ForwardRequest,
    { status, lines, isSized }: StreamedHead,
    private readonly onDrain: () => void,
  ) {
    const { response } = request.client;
    this.byHand = isSized && response.takesWhole ? response.openStream?.(status, lines, onDrain) : undefined;
    if (this.byHand === undefined) this.nodes.writeHead(status, fieldsOfLines(lines));
  }

  /** Whether the head is sent together with the first piece. */
  get isByHand(): boolean {
    return this.byHand !== undefined;
  }

  /**
   * Writes a piece. The buffer is not used after this method returns. Returns false if the client reads too slowly.
   * `onDrain` is then called once there is room again.
   */
  write(piece: Buffer): boolean {
    if (this.byHand !== undefined) return this.byHand.write(piece);
    if (this.nodes.write(Buffer.from(piece))) return true;
    // Pieces that were already read still arrive while the backend is paused. One listener is enough for all of them.
    if (!this.isFull) {
      this.isFull = true;
      this.nodes.once('drain', () => this.onRoom());
    }
    return false;
  }

  private onRoom(): void {
    this.isFull = false;
    this.onDrain();
  }

  /** Sends the head if it has not been sent. */
  flush(): void {
    if (this.byHand === undefined) this.nodes.flushHeaders();
    else this.byHand.flush();
  }

  /**
   * Sends the permitted trailers if the client accepts trailers. @param text trailer field lines, each with its CRLF.
   */
  addTrailers(text: string): void {
    const passed = passableTrailers(text);
    if (passed !== undefined && takesTrailers(this.request.message)) this.nodes.addTrailers(passed);
  }

  /** Ends the response. @param body the last piece. */
  end(body: Buffer | undefined): void {
    if (this.byHand === undefined) endResponse(this.nodes, body);
    else this.byHand.end();
  }

  private get nodes(): ServerResponse {
    return this.request.client.response.nodeResponse;
  }
}

/** Ends one of Node's responses with the last piece of its body. */
export function endResponse(response: ServerResponse, body: Buffer | undefined): void {
  // Node joins head and body into one buffer if the body is a Latin-1 string. With a Buffer, it would use writev.
  if (body === undefined || body.length === 0) response.end();
  else response.end(body.toString('latin1'), 'latin1');
}
