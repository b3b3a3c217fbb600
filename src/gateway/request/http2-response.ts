/**
 * Writes HTTP/2 responses. Complete responses are written directly to the stream, because Node's `Http2ServerResponse`
 * processes each field several times. Streamed responses use Node's object, as over HTTP/1.1.
 */
import { constants, Http2ServerResponse, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ClientResponse } from '../../http/client/client-response.js';
import type { Transaction } from '../../http/client/plain-connection.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { StreamRequest } from './http2-message.js';
import { recordAdmission } from './unadmitted-streams.js';

/** GatewayHttp2Response is Node's HTTP/2 response object, corrected to behave like that of HTTP/1.1. */
export class GatewayHttp2Response extends Http2ServerResponse {
  /** Whether the complete response was written directly to the stream. */
  isWhole = false;

  /**
   * Writes the head. If writing fails, removes the fields of the head, so that the error response does not contain
   * them.
   */
  override writeHead(status: number, messageOrFields?: unknown, fields?: unknown): this {
    try {
      return super.writeHead(status, messageOrFields as string, fields as OutgoingHttpHeaders);
    } catch (error) {
      if (!this.headersSent) for (const name of this.getHeaderNames()) this.removeHeader(name);
      throw error;
    }
  }

  /**
   * Resets the stream, so that a truncated response does not look complete. Other streams of the connection continue.
   */
  override destroy(): this {
    resetStream(this.stream);
    return this;
  }
}

// Node also ends a stream that the client resets. Only a response that the gateway has ended counts as finished.
Object.defineProperty(GatewayHttp2Response.prototype, 'writableFinished', {
  get(this: GatewayHttp2Response) {
    return (this.isWhole || this.writableEnded) && this.stream.writableFinished;
  },
});

// Node's HTTP/2 class lacks this property of the HTTP/1.1 class.
Object.defineProperty(GatewayHttp2Response.prototype, 'destroyed', {
  get(this: GatewayHttp2Response) {
    return this.stream.destroyed;
  },
});

/** Http2Response writes the response to a request that has Node's objects. */
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

  get canWriteWhole(): boolean {
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
    recordAdmission(this.response.stream);
  }

  /** Does nothing, because streams end independently. */
  endConnection(): void {}

  destroy(): void {
    resetStream(this.response.stream);
  }
}

/** StreamResponse writes the response to a `StreamRequest`, and creates Node's objects only if they are needed. */
export class StreamResponse implements ClientResponse {
  /** Receiver of the end of the response. Undefined before `begin`, and after the stream has closed. */
  private transaction: Transaction | undefined;
  /** Node's response object. Undefined until the stream is handed over to Node. */
  private handedOver: GatewayHttp2Response | undefined;
  /** Status of a response that was written directly to the stream. 0 until then. */
  private status = 0;

  constructor(private readonly request: StreamRequest) {}

  /**
   * Starts to watch the stream for its end.
   * @param transaction receives the end of the response, or Node's objects after a handover
   */
  begin(transaction: Transaction): void {
    this.transaction = transaction;
    const { stream } = this.request;
    stream.on('error', ignoreError);
    stream.on('close', () => this.onClose(stream));
  }

  /**
   * Node's response object for streaming. Reading this property hands the stream over to Node's objects and their
   * listeners.
   */
  get nodeResponse(): ServerResponse {
    return (this.handedOver ?? this.handOver()) as unknown as ServerResponse;
  }

  get isGone(): boolean {
    return this.request.stream.destroyed;
  }

  get hasBegun(): boolean {
    return this.request.stream.headersSent;
  }

  get canWriteWhole(): boolean {
    const { stream } = this.request;
    return !stream.headersSent && !stream.destroyed && this.handedOver === undefined;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    this.status = status;
    respondWhole(this.request.stream, status, lines, body);
  }

  noteAdmitted(): void {
    recordAdmission(this.request.stream);
  }

  /** Does nothing, because streams end independently. */
  endConnection(): void {}

  destroy(): void {
    resetStream(this.request.stream);
  }

  private handOver(): GatewayHttp2Response {
    const { request } = this;
    const message = request.toNodes();
    this.handedOver = new GatewayHttp2Response(request.stream);
    this.transaction?.onHandedOver(message as unknown as IncomingMessage, this.handedOver as unknown as ServerResponse);
    return this.handedOver;
  }

  /**
   * Notifies the transaction of the end of the response. After a handover, Node's response object does this instead.
   */
  private onClose(stream: ServerHttp2Stream): void {
    const { transaction } = this;
    this.transaction = undefined;
    if (this.handedOver === undefined) transaction?.onEnd(stream.writableFinished ? this.status : 0);
  }
}

/**
 * Writes a complete response directly to the stream.
 * @param body copied, because the caller reuses its buffer
 */
function respondWhole(stream: ServerHttp2Stream, status: number, lines: string, body: string | Buffer): void {
  stream.respond([':status', String(status), ...fieldsOfLines(lines)]);
  stream.end(typeof body === 'string' ? Buffer.from(body, 'latin1') : Buffer.from(body));
}

function resetStream(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}

/** Ignores an error of the stream, because a `close` event follows. */
function ignoreError(): void {}
