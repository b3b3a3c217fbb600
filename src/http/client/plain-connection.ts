/**
 * A client connection that the gateway reads and writes itself, at a fraction of the cost of Node's HTTP server. This
 * works as long as requests are plain (`plain-request.ts`) and responses have a known length. At the first exception,
 * Node permanently takes over the connection, the bytes read so far and the running request.
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

/** PlainRequestServer is what a plain connection needs from its listener. */
export interface PlainRequestServer {
  /** Maximum number of requests per connection; 0 for no limit. */
  readonly mostRequests: number;
  /** Field lines, each with its CRLF, for a response that keeps the connection open. */
  readonly keepAliveLines: string;
  /**
   * Whether the connection uses TLS. With TLS, written data has been copied when the write returns, and the callback of
   * the write runs later.
   */
  readonly isEncrypted: boolean;
  /** How long to wait for the rest of a small body before the request is handed over to Node. */
  readonly bodyWaitMs: number;
  /**
   * Serves a request. Calls `PlainConnection.begin` before anything else.
   * @returns false if nothing was done. The request is then handed over to Node.
   */
  serve(request: PlainRequest, connection: PlainConnection): boolean;
  /** Gives a connection to Node's server. Bytes that were already read follow as a `data` event. */
  handOver(socket: Socket): void;
  /** Called with an error of the socket. */
  onFailure(error: Error, socket: Socket): void;
}

/** Transaction is a request in progress on a connection. */
export interface Transaction {
  /** Called when the response has been sent. Status 0 means that the client disconnected first. */
  onEnd(status: number): void;
  /** Called when Node has taken over the connection. `message` is Node's object for the same request. */
  onHandedOver(message: IncomingMessage, response: ServerResponse): void;
}

const CONNECTION = Symbol('plainConnection');
type PlainSocket = Socket & { [CONNECTION]?: PlainConnection };

/** Returns the plain connection of a socket, or undefined if Node has read the socket from the start. */
export function plainConnectionOf(socket: Socket): PlainConnection | undefined {
  return (socket as PlainSocket)[CONNECTION];
}

export class PlainConnection implements ClientResponse {
  /** Time of opening (`performance.now()`). */
  readonly openedMs = performance.now();
  /** Client address, cached by the code that serves the requests. */
  clientAddress: string | undefined;
  /** Number of requests so far, including those read by Node. */
  private requests = 0;
  private transaction: Transaction | undefined;
  private request: PlainRequest | undefined;
  private awaited: AwaitedBody | undefined;
  /** Bytes received during a streamed response. They are parsed after its end. */
  private unread: Buffer | undefined;
  private isStreaming = false;
  /** Status of the current response; 0 until the response begins. */
  private status = 0;
  /** Whether the connection closes after the current response. */
  private isLast = false;
  private isHandedOver = false;
  /** Node's response object after a handover, or a destroyed one. */
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

  /** Whether the connection has not been handed over and waits for a request. */
  get isIdle(): boolean {
    return !this.isHandedOver && this.transaction === undefined && this.awaited === undefined;
  }

  /** Whether the connection has not received a request yet. */
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

  /** Processes the bytes that have been read. Returns false if reading must stop until the socket is resumed. */
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

  /** Serves the request, or waits for the rest of it. Returns false if the bytes must be handed over to Node. */
  private serveOrAwait(buffer: Buffer, bytes: number): boolean {
    if (this.transaction !== undefined) return false;
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
   * Counts a request that Node has read, and makes it the last one if the limit is reached. Node itself counts only the
   * requests that it has read.
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
   * Passes a request that Node has read to the running transaction, if it is the same request.
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
    // The client has disconnected or the socket is closing. The end of the connection ends the request.
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

  /** Handles a half-close by the client. The connection ends after the running response, or now if there is none. */
  onEof(): void {
    if (this.isHandedOver) {
      awaitResponse(this.socket);
      return;
    }
    this.isLast = true;
    // The rest of the body will not arrive.
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

  /** Ends the request, unless the write failed. After a failed write, the end of the connection ends the request. */
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
    // After a handover, Node ends the connection, on which it may already serve the last request.
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
    // Hand over the running request, too. A request whose response has begun ends here, when the client has received
    // the response.
    if (request !== undefined && !this.hasBegun) socket.emit('data', request.bytes);
  }
}

/** Socket listeners that all connections share, which saves memory for idle ones. */
function onSocketEnd(this: Socket): void {
  plainConnectionOf(this)?.onEof();
}

function onSocketError(this: Socket, error: Error): void {
  plainConnectionOf(this)?.onFailure(error);
}

function onSocketClose(this: Socket): void {
  plainConnectionOf(this)?.onClosed();
}
