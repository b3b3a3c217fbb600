/**
 * A response on its way to the client piece by piece: by hand where its length is known and its connection is read by
 * hand, else by Node's response.
 */
import type { ServerResponse } from 'node:http';
import type { ResponseStream } from '../../http/client/client-response.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { passableTrailers, takesTrailers } from '../fields/trailers.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** What a response to come looks like. */
export interface StreamedHead {
  readonly status: number;
  /** Its fields, each with its CRLF. */
  readonly lines: string;
  /** Whether its `Content-Length` is told, and so many bytes follow. */
  readonly isSized: boolean;
}

export class StreamedResponse {
  private readonly byHand: ResponseStream | undefined;
  /** Node's is full, and `onRoom` is to be told when it is not. */
  private isFull = false;

  /** Begins it; the head leaves with the first piece, or with `flush`. @param onDrain see `write`. */
  constructor(
    private readonly request: ForwardRequest,
    { status, lines, isSized }: StreamedHead,
    private readonly onDrain: () => void,
  ) {
    const { response } = request.client;
    this.byHand = isSized && response.takesWhole ? response.openStream?.(status, lines, onDrain) : undefined;
    if (this.byHand === undefined) this.nodes.writeHead(status, fieldsOfLines(lines));
  }

  /** Whether its head leaves with its first piece. */
  get isByHand(): boolean {
    return this.byHand !== undefined;
  }

  /**
   * Passes on a piece, which is of no use to it when this has returned.
   * False: the client reads more slowly than it is written to; `onDrain` is called when there is room again.
   */
  write(piece: Buffer): boolean {
    if (this.byHand !== undefined) return this.byHand.write(piece);
    if (this.nodes.write(Buffer.from(piece))) return true;
    // What was read already goes on coming while the backend is held: one listener is told for all of it.
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

  /** Sends the head, if it has not left. */
  flush(): void {
    if (this.byHand === undefined) this.nodes.flushHeaders();
    else this.byHand.flush();
  }

  /** @param text field lines behind the body; those that may pass go to a client that takes them. */
  addTrailers(text: string): void {
    const passed = passableTrailers(text);
    if (passed !== undefined && takesTrailers(this.request.message)) this.nodes.addTrailers(passed);
  }

  /** @param body the rest of it. */
  end(body: Buffer | undefined): void {
    if (this.byHand === undefined) endResponse(this.nodes, body);
    else this.byHand.end();
  }

  private get nodes(): ServerResponse {
    return this.request.client.response.nodeResponse;
  }
}

/** Ends a response of Node's with the rest of its body. */
export function endResponse(response: ServerResponse, body: Buffer | undefined): void {
  // As a Latin-1 string, byte for byte, the body joins the head in one buffer; as a Buffer the two would leave by
  // writev.
  if (body === undefined || body.length === 0) response.end();
  else response.end(body.toString('latin1'), 'latin1');
}
