/**
 * Responses over HTTP/2. A small whole one goes past Node's `Http2ServerResponse`, which would look at each of its
 * fields several times, and straight to its stream; what is streamed is written as over HTTP/1.1.
 */
import { constants, Http2ServerResponse, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientResponse } from '../../http/client/client-response.js';
import type { Transaction } from '../../http/client/plain-connection.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { StreamRequest } from './http2-message.js';
import { noteAdmitted } from './unadmitted-streams.js';

/** A response as Node makes it. */
export class GatewayHttp2Response extends Http2ServerResponse {
  /** Its whole response has been given to the stream. */
  isWhole = false;

  /** Fields of a head that could not be written must not stand in the way of the one that is written instead. */
  override writeHead(status: number, messageOrFields?: unknown, fields?: unknown): this {
    try {
      return super.writeHead(status, messageOrFields as string, fields as OutgoingHttpHeaders);
    } catch (error) {
      if (!this.headersSent) for (const name of this.getHeaderNames()) this.removeHeader(name);
      throw error;
    }
  }

  /**
   * A response that is cut short must not look complete: the stream is reset, the
   * other requests of the connection go on.
   */
  override destroy(): this {
    cut(this.stream);
    return this;
  }
}

// A client that resets a stream makes Node end it: what we have not ended ourselves has not been answered.
Object.defineProperty(GatewayHttp2Response.prototype, 'writableFinished', {
  get(this: GatewayHttp2Response) {
    return (this.isWhole || this.writableEnded) && this.stream.writableFinished;
  },
});

// Node's class does not have what its HTTP/1.1 twin has.
Object.defineProperty(GatewayHttp2Response.prototype, 'destroyed', {
  get(this: GatewayHttp2Response) {
    return this.stream.destroyed;
  },
});

/** Http2Response writes to one stream that Node has made a response of. */
export class Http2Response implements ClientResponse {
  constructor(private readonly response: GatewayHttp2Response) {}

  get nodeResponse(): ServerResponse {
    return this.response as unknown as ServerResponse;
  }

  get isGone(): boolean {
    return this.response.stream.destroyed;
  }

  get hasBegun(): boolean {
    return this.response.headersSent;
  }

  get takesWhole(): boolean {
    const { response } = this;
    return !response.headersSent && !response.stream.destroyed && response.getHeaderNames().length === 0;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const { response } = this;
    response.statusCode = status;
    response.isWhole = true;
    respondWhole(response.stream, status, lines, body);
  }

  noteAdmitted(): void {
    noteAdmitted(this.response.stream);
  }

  /** The streams of a connection end each for itself. */
  endConnection(): void {}

  destroy(): void {
    cut(this.response.stream);
  }
}

/** StreamResponse writes the response to a `StreamRequest`. */
export class StreamResponse implements ClientResponse {
  /** Undefined from the end of the stream on: what is said then, nobody hears. */
  private transaction: Transaction | undefined;
  /** From when on the stream is Node's to write. */
  private nodes: GatewayHttp2Response | undefined;
  /** Of a response that has been given to the stream. */
  private status = 0;

  constructor(private readonly request: StreamRequest) {}

  /** @param transaction is told when the stream is done with. */
  begin(transaction: Transaction): void {
    this.transaction = transaction;
    const { stream } = this.request;
    stream.on('error', ignore);
    stream.on('close', () => this.onClose(stream));
  }

  /** Asking for it makes the stream Node's, with all that its classes listen to. */
  get nodeResponse(): ServerResponse {
    return (this.nodes ?? this.handOver()) as unknown as ServerResponse;
  }

  get isGone(): boolean {
    return this.request.stream.destroyed;
  }

  get hasBegun(): boolean {
    return this.request.stream.headersSent;
  }

  get takesWhole(): boolean {
    const { stream } = this.request;
    return !stream.headersSent && !stream.destroyed && this.nodes === undefined;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    this.status = status;
    respondWhole(this.request.stream, status, lines, body);
  }

  noteAdmitted(): void {
    noteAdmitted(this.request.stream);
  }

  /** The streams of a connection end each for itself. */
  endConnection(): void {}

  destroy(): void {
    cut(this.request.stream);
  }

  private handOver(): GatewayHttp2Response {
    const { request } = this;
    const message = request.toNodes();
    this.nodes = new GatewayHttp2Response(request.stream);
    this.transaction?.onHandedOver(message as unknown as IncomingMessage, this.nodes as unknown as ServerResponse);
    return this.nodes;
  }

  /** What has been handed over hears of the end from Node's response. */
  private onClose(stream: ServerHttp2Stream): void {
    const { transaction } = this;
    this.transaction = undefined;
    if (this.nodes === undefined) transaction?.onEnd(stream.writableFinished ? this.status : 0);
  }
}

/** @param body which the stream takes later, while whoever wrote it reads into it again. */
function respondWhole(stream: ServerHttp2Stream, status: number, lines: string, body: string | Buffer): void {
  stream.respond([':status', String(status), ...fieldsOfLines(lines)]);
  stream.end(typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.from(body));
}

function cut(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** A stream that breaks closes as well. */
function ignore(): void {}
