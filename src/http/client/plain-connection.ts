/**
 * A client's connection as long as its requests are plain and their responses whole or of a known length: both are
 * read and written here, at a fraction of what Node's server costs. With the first one that is not, the connection
 * becomes Node's for good, and what has been read of it goes there first; a request that is under way goes along.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AwaitedBody } from './awaited-body.js';
import type { ClientResponse, ResponseStream } from './client-response.js';
import { announceResponse, awaitResponse, cutWhenSilent } from './half-closed.js';
import { responseToNobody } from './node-client-response.js';
import { parsePlainRequest, type PlainRequest } from './plain-request.js';
import { PlainStream } from './plain-stream.js';
import { CLOSE_LINE, wholeHead, writeEncrypted, writeJoined } from './whole-response.js';

/** Whoever serves the requests of a listener. */
export interface PlainRequestServer {
  /** Requests of one connection; 0: any number. */
  readonly mostRequests: number;
  /** Field lines, each with its CRLF, of a response behind which another request may follow. */
  readonly keepAliveLines: string;
  /** Whether what is written has been copied when the write returns, and is told of later: over TLS. */
  readonly isEncrypted: boolean;
  /** How long the rest of a small body may take before its request is Node's. */
  readonly bodyWaitMs: number;
  /**
   * Serves a request, for which it calls `begin` first; false: it has done nothing, and Node's server is to have it.
   */
  serve(request: PlainRequest, connection: PlainConnection): boolean;
  /** Makes a connection Node's; what it has read comes as its `data`. */
  handOver(socket: Socket): void;
  /** A connection has failed. */
  onFailure(error: Error, socket: Socket): void;
}

/** A request that is being served. */
export interface Transaction {
  /** The response has been sent; status 0: the client has gone before. */
  onEnd(status: number): void;
  /** From here on Node has the connection, and this is the same request. */
  onHandedOver(message: IncomingMessage, response: ServerResponse): void;
}

const CONNECTION = Symbol('plainConnection');
type PlainSocket = Socket & { [CONNECTION]?: PlainConnection };

/** The plain connection that a socket is; undefined: it is Node's, and always was. */
export function plainConnectionOf(socket: Socket): PlainConnection | undefined {
  return (socket as PlainSocket)[CONNECTION];
}

export class PlainConnection implements ClientResponse {
  /** When it was opened, by `performance.now()`. */
  readonly openedMs = performance.now();
  /** Of the client, as far as it has been asked for; belongs to whoever serves. */
  clientAddress: string | undefined;
  /** It has had so many, Node's among them. */
  private requests = 0;
  private transaction: Transaction | undefined;
  private request: PlainRequest | undefined;
  /** Of a request that has not come whole. */
  private awaited: AwaitedBody | undefined;
  /** What has come behind a request whose response goes out in pieces: it waits for their end. */
  private unread: Buffer | undefined;
  private isStreaming = false;
  private status = 0;
  private isLast = false;
  private isNodes = false;
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

  /** Whether it is read here still, and waits for a request. */
  get isIdle(): boolean {
    return !this.isNodes && this.transaction === undefined && this.awaited === undefined;
  }

  /** Whether it never had a request. */
  get isFresh(): boolean {
    return this.isIdle && this.requests === 0;
  }

  /** Whether a request is under way here. */
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
    return (this.adopted ??= responseToNobody(this.socket));
  }

  /** Given what has been read. False: no more until the socket is resumed. */
  onRead(bytes: number, buffer: Buffer): boolean {
    // Node has let go of it: whoever has it now reads it as a stream.
    if (this.isNodes) return this.socket.push(Buffer.from(buffer.subarray(0, bytes)));
    // RFC 9112 section 9.6: what is sent behind the last request must not be served.
    if (this.isLast) return true;
    const piece = buffer.subarray(0, bytes);
    if (this.isStreaming) return this.hold(piece);
    if (this.awaited !== undefined) this.addBody(this.awaited, piece);
    else if (!this.takes(buffer, bytes)) this.handOverWith(Buffer.from(piece));
    return true;
  }

  private hold(piece: Buffer): boolean {
    this.unread = this.unread === undefined ? Buffer.from(piece) : Buffer.concat([this.unread, piece]);
    this.socket.pause();
    return false;
  }

  /** Serves what has been read, or waits for what is missing of it; false: it is Node's. */
  private takes(buffer: Buffer, bytes: number): boolean {
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
    const bytes = awaited.take();
    if (!awaited.isWhole || !this.takes(bytes, bytes.length)) this.handOverWith(bytes);
  }

  private handOverAwaited(): void {
    const bytes = this.awaited?.take();
    this.awaited = undefined;
    if (bytes !== undefined) this.handOverWith(bytes);
  }

  /** The request that has been read is served from here on. */
  begin(transaction: Transaction, request: PlainRequest): void {
    this.transaction = transaction;
    this.request = request;
    if (this.isFull() || !request.keepsAlive) this.isLast = true;
  }

  /**
   * Counts a request that Node has read, which is the last one where there have been as many as there
   * may be. False: the last one was before it, and it must not be served (RFC 9112 section 9.6). Node
   * knows of those alone that it has read.
   */
  countNodes(response: ServerResponse): boolean {
    if (this.isLast) return false;
    if (this.isFull()) {
      this.isLast = true;
      response.shouldKeepAlive = false;
    }
    return true;
  }

  /** Whether Node's server has just read the request that is under way; then it is that, and not a new one. */
  adopt(message: IncomingMessage, response: ServerResponse): boolean {
    const { transaction } = this;
    if (transaction === undefined || this.hasBegun) return false;
    this.transaction = undefined;
    this.adopted = response;
    if (this.isLast) response.shouldKeepAlive = false;
    transaction.onHandedOver(message, response);
    return true;
  }

  get takesWhole(): boolean {
    return !this.isNodes && this.status === 0;
  }

  writeWhole(status: number, lines: string, body: string | Buffer): void {
    const { socket } = this;
    // The client has gone, or closed its side: the end of the connection ends the request.
    if (!socket.writable) return;
    const { isEncrypted, keepAliveLines } = this.server;
    const head = wholeHead(status, lines, this.isLast ? CLOSE_LINE : keepAliveLines);
    this.status = status;
    if (isEncrypted) {
      writeEncrypted(socket, head, body, (error) => this.sent(status, error));
      return;
    }
    writeJoined(socket, head, body);
    if (socket.writableLength > 0) socket.write('', 'latin1', (error) => this.sent(status, error));
    else this.sent(status, socket.errored);
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

  /** The client has closed its side: with what is under way, or at once, the connection ends. */
  onEof(): void {
    if (this.isNodes) {
      awaitResponse(this.socket);
      return;
    }
    this.isLast = true;
    // What is missing of a body will not come.
    if (this.awaited !== undefined) this.socket.destroy();
    else if (this.transaction === undefined) this.socket.end();
    else if (this.isStreaming) cutWhenSilent(this.socket, this.socket);
    else if (!this.hasBegun) announceResponse(this.socket);
  }

  onFailure(error: Error): void {
    this.server.onFailure(error, this.socket);
  }

  onClosed(): void {
    this.awaited?.take();
    this.awaited = undefined;
    this.unread = undefined;
    this.end(0);
  }

  private isFull(): boolean {
    const most = this.server.mostRequests;
    return ++this.requests >= most && most > 0;
  }

  private readOn(unread: Buffer): void {
    this.unread = undefined;
    this.socket.resume();
    if (!this.takes(unread, unread.length)) this.handOverWith(unread);
  }

  /** A response that could not be sent ends with its connection. */
  private sent(status: number, error: Error | null | undefined): void {
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
    // The last one may be Node's by now, and under way behind this one.
    if (this.isLast && !this.isNodes) this.socket.destroySoon();
    else if (this.unread !== undefined) this.readOn(this.unread);
  }

  /** @param bytes that have been read, and that nobody has served. */
  private handOverWith(bytes: Buffer): void {
    this.handOver();
    this.socket.emit('data', bytes);
  }

  private handOver(): void {
    if (this.isNodes) return;
    const { socket, request } = this;
    this.isNodes = true;
    this.request = undefined;
    socket.off('error', onSocketError);
    this.server.handOver(socket);
    // One that has been answered, and is under way until the client has taken the response, comes to its end here.
    if (request !== undefined && !this.hasBegun) socket.emit('data', request.bytes);
  }
}

/** The same functions for all connections: an idle one is held by as little as possible. */
function onSocketEnd(this: Socket): void {
  plainConnectionOf(this)?.onEof();
}

function onSocketError(this: Socket, error: Error): void {
  plainConnectionOf(this)?.onFailure(error);
}

function onSocketClose(this: Socket): void {
  plainConnectionOf(this)?.onClosed();
}
