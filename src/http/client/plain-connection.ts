/**
 * Implements a client connection that the gateway reads and writes itself, at a fraction of the cost of Node's HTTP
 * server. This is possible while requests are plain (`plain-request.ts`) and responses have a known length. At the
 * first exception, Node permanently takes over the connection, with the bytes read so far and the running request.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AwaitedBody } from './awaited-body.js';
import type { ClientResponse, ResponseStream } from './client-response.js';
import { announceResponse, awaitResponse, cutWhenSilent } from './half-closed.js';
import { destroyedResponse } from './node-client-response.js';
import { parsePlainRequest, type PlainRequest } from './plain-request.js';
import { PlainStream } from './plain-stream.js';
import { CLOSE_LINE, wholeHead, writeEncrypted, writeJoined } from './whole-response.js';

/** PlainRequestServer serves the requests of plain connections, and hands connections over to Node. */
export interface PlainRequestServer {
  /** Maximum number of requests per connection. 0 for no limit. */
  readonly mostRequests: number;
  /** `Connection` and `Keep-Alive` field lines for a response that keeps the connection open, each with its CRLF. */
  readonly keepAliveLines: string;
  /**
   * Whether the connections use TLS. With TLS, a write has copied its data when it returns, and the callback of the
   * write runs later.
   */
  readonly isEncrypted: boolean;
  /** How long to wait for the rest of a small body before Node takes over the connection. */
  readonly bodyWaitMs: number;
  /**
   * Serves a request. Must call `PlainConnection.begin` before it writes a response.
   * @returns false if the request was not served. The connection then hands the request over to Node.
   */
  serve(request: PlainRequest, connection: PlainConnection): boolean;
  /** Gives a connection to Node's server. A `data` event with the bytes that were already read follows. */
  handOver(socket: Socket): void;
  /** Called when the socket fails. */
  onFailure(error: Error, socket: Socket): void;
}

/** Transaction handles the end and the handover of a request in progress. */
export interface Transaction {
  /**
   * Called when the response has been sent.
   * @param status status of the response; 0 if the client disconnected first
   */
  onEnd(status: number): void;
  /**
   * Called when Node has taken over the connection. `message` and `response` are Node's objects for the running
   * request.
   */
  onHandedOver(message: IncomingMessage, response: ServerResponse): void;
}

const CONNECTION = Symbol('plainConnection');
type PlainSocket = Socket & { [CONNECTION]?: PlainConnection };

/**
 * Returns the plain connection of a socket, also after a handover. Returns undefined if Node has read the socket from
 * the start.
 */
export function plainConnectionOf(socket: Socket): PlainConnection | undefined {
  return (socket as PlainSocket)[CONNECTION];
}

export class PlainConnection implements ClientResponse {
  /** Time when the connection was opened (`performance.now()`). */
  readonly openedMs = performance.now();
  /** Client address, cached by the code that serves the requests. Undefined until the first request. */
  clientAddress: string | undefined;
  /** Number of requests so far, including the requests that Node has read. */
  private requests = 0;
  private transaction: Transaction | undefined;
  private request: PlainRequest | undefined;
  private awaited: AwaitedBody | undefined;
  /** Bytes received during a streamed response, which are parsed after the response. Undefined if there are none. */
  private unread: Buffer | undefined;
  private isStreaming = false;
  /** Status of the current response; 0 until the response begins. */
  private status = 0;
  /** Whether the connection closes after the current response. */
  private isLast = false;
  private isHandedOver = false;
  /**
   * Node's response object after a handover, or a destroyed one if there was no handover. Undefined until it is needed.
   */
  private adopted: ServerResponse | undefined;

  constructor(
    private readonly socket: Socket,
    private readonly server: PlainRequestServer,
  ) {
    (socket as PlainSocket)[CONNECTION] = this;
    socket.on('end', onSocketEnd);
    socket.on('error', onSocketError);
    socket.on('close', onSocketClose);
  }

  /** Whether the connection waits for a request. False after a handover. */
  get isIdle(): boolean {
    return !this.isHandedOver && this.transaction === undefined && this.awaited === undefined;
  }

  /** Whether the connection waits for its first request. */
  get isFresh(): boolean {
    return this.isIdle && this.requests === 0;
  }

  get hasRequest(): boolean {
    return this.transaction !== undefined;
  }

  get isGone(): boolean {
    return this.socket.destroyed;
  }

  get hasBegun(): boolean {
    return this.status !== 0;
  }

  get nodeResponse(): ServerResponse {
    if (this.transaction !== undefined && !this.socket.destroyed) this.handOver();
    return (this.adopted ??= destroyedResponse(this.socket));
  }

  /** Processes bytes that the socket has read. Returns false if reading must stop until the socket is resumed. */
  onRead(bytes: number, buffer: Buffer): boolean {
    // After a handover, Node's server or an upgraded protocol reads the socket as a stream.
    if (this.isHandedOver) return this.socket.push(Buffer.from(buffer.subarray(0, bytes)));
    // RFC 9112 section 9.6: data after the last request must not be processed.
    if (this.isLast) return true;
    const piece = buffer.subarray(0, bytes);
    if (this.isStreaming) return this.holdBack(piece);
    if (this.awaited !== undefined) this.addBody(this.awaited, piece);
    else if (!this.serveOrAwait(buffer, bytes)) this.handOverWith(Buffer.from(piece));
    return true;
  }

  private holdBack(piece: Buffer): boolean {
    this.unread = this.unread === undefined ? Buffer.from(piece) : Buffer.concat([this.unread, piece]);
    this.socket.pause();
    return false;
  }

  /** Serves a request, or waits for the rest of its body. Returns false if Node must read these bytes. */
  private serveOrAwait(buffer: Buffer, bytes: number): boolean {
    if (this.transaction !== undefined) return false;
    // A number is the total size of a request whose body is incomplete.
    const request = parsePlainRequest(buffer, bytes, this.socket);
    if (typeof request !== 'number') return request !== undefined && this.server.serve(request, this);
    const { bodyWaitMs } = this.server;
    this.awaited = new AwaitedBody(buffer.subarray(0, bytes), request - bytes, bodyWaitMs, () =>
      this.handOverAwaited(),
    );
    return true;
  }

  private addBody(awaited: AwaitedBody, piece: Buffer): void {
    if (!awaited.add(piece)) return;
    this.awaited = undefined;
    const bytes = awaited.finish();
    if (!awaited.isWhole || !this.serveOrAwait(bytes, bytes.length)) this.handOverWith(bytes);
  }

  private handOverAwaited(): void {
    const bytes = this.awaited?.finish();
    this.awaited = undefined;
    if (bytes !== undefined) this.handOverWith(bytes);
  }

  begin(transaction: Transaction, request: PlainRequest): void {
    this.transaction = transaction;
    this.request = request;
    if (this.countRequest() || !request.keepsAlive) this.isLast = true;
  }

  /**
   * Counts a request that Node has read, and makes it the last one if the limit is reached. Node's own limit counts
   * only the requests that Node has read.
   * @returns false if the limit had already been reached. The request must then not be served (RFC 9112 section 9.6).
   */
  countNodeRequest(response: ServerResponse): boolean {
    if (this.isLast) return false;
    if (this.countRequest()) {
      this.isLast = true;
      response.shouldKeepAlive = false;
    }
    return true;
  }

  /**
   * Passes Node's objects to the running transaction, if Node has read the same request again after a handover.
   * @returns false if it is a new request.
   */
  adopt(message: IncomingMessage, response: ServerResponse): boolean {
    const { transaction } = this;
    if (transaction === undefined || this.hasBegun) return false;
    this.transaction = undefined;
    this.adopted = response;
    if (this.isLast) response.shouldKeepAlive = false;
    transaction.onHandedOver(message, response);
    return true;
  }

  get canWriteWhole(): boolean {
    return !this.isHandedOver && this.status === 0;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const { socket } = this;
    // The client has disconnected, or the socket is closing. The `close` event of the socket ends the request.
    if (!socket.writable) return;
    const { isEncrypted, keepAliveLines } = this.server;
    const head = wholeHead(status, lines, this.isLast ? CLOSE_LINE : keepAliveLines);
    this.status = status;
    if (isEncrypted) {
      writeEncrypted(socket, head, body, (error) => this.onWritten(status, error));
      return;
    }
    writeJoined(socket, head, body);
    if (socket.writableLength > 0) socket.write('', 'latin1', (error) => this.onWritten(status, error));
    else this.onWritten(status, socket.errored);
  }

  openStream(status: number, lines: string, onDrain: () => void): ResponseStream {
    const { isEncrypted, keepAliveLines } = this.server;
    const head = wholeHead(status, lines, this.isLast ? CLOSE_LINE : keepAliveLines);
    this.status = status;
    this.isStreaming = true;
    return new PlainStream(this.socket, head, isEncrypted, { onDrain, onSent: () => this.end(status) });
  }

  endConnection(): void {
    this.isLast = true;
  }

  destroy(): void {
    this.socket.destroy();
  }

  /**
   * Handles a half-close by the client. The connection closes after the running response, or immediately if no request
   * is running.
   */
  onEof(): void {
    if (this.isHandedOver) {
      awaitResponse(this.socket);
      return;
    }
    this.isLast = true;
    // The rest of the body will never arrive.
    if (this.awaited !== undefined) this.socket.destroy();
    else if (this.transaction === undefined) this.socket.end();
    else if (this.isStreaming) cutWhenSilent(this.socket, this.socket);
    else if (!this.hasBegun) announceResponse(this.socket);
  }

  onFailure(error: Error): void {
    this.server.onFailure(error, this.socket);
  }

  onClosed(): void {
    this.awaited?.finish();
    this.awaited = undefined;
    this.unread = undefined;
    this.end(0);
  }

  private countRequest(): boolean {
    const limit = this.server.mostRequests;
    return ++this.requests >= limit && limit > 0;
  }

  private readHeldBack(unread: Buffer): void {
    this.unread = undefined;
    this.socket.resume();
    if (!this.serveOrAwait(unread, unread.length)) this.handOverWith(unread);
  }

  /**
   * Ends the request, unless the write failed. After a failed write, the `close` event of the socket ends the request.
   */
  private onWritten(status: number, error: Error | null | undefined): void {
    if (error === null || error === undefined) this.end(status);
  }

  private end(status: number): void {
    const { transaction } = this;
    if (transaction === undefined) return;
    this.transaction = undefined;
    this.request = undefined;
    this.status = 0;
    this.isStreaming = false;
    transaction.onEnd(status);
    // After a handover, Node closes the connection. Node may already serve the last request of the connection.
    if (this.isLast && !this.isHandedOver) this.socket.destroySoon();
    else if (this.unread !== undefined) this.readHeldBack(this.unread);
  }

  private handOverWith(bytes: Buffer): void {
    this.handOver();
    this.socket.emit('data', bytes);
  }

  private handOver(): void {
    if (this.isHandedOver) return;
    const { socket, request } = this;
    this.isHandedOver = true;
    this.request = undefined;
    socket.off('error', onSocketError);
    this.server.handOver(socket);
    // Hand over the running request, too. If its response has begun, the request ends here, when the client has
    // received the response.
    if (request !== undefined && !this.hasBegun) socket.emit('data', request.bytes);
  }
}

/** Listeners for the events of sockets. All connections share them, which saves memory for idle connections. */
function onSocketEnd(this: Socket): void {
  plainConnectionOf(this)?.onEof();
}

function onSocketError(this: Socket, error: Error): void {
  plainConnectionOf(this)?.onFailure(error);
}

function onSocketClose(this: Socket): void {
  plainConnectionOf(this)?.onClosed();
}
