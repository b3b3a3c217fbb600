/**
 * Contains all uses of Node's private properties of connections and responses. `node-internals.spec.ts` verifies each
 * assumption on the Node version that the project uses, so that incompatible changes in Node fail a test.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket, type OnReadOpts, type Server as NetServer, type SocketConstructorOpts } from 'node:net';

export type NodeResponse = ServerResponse & { readonly req: IncomingMessage };

interface NodeSocket extends Socket {
  /** The response that is being written. Null or missing if there is none. */
  readonly _httpMessage?: NodeResponse | null;
  /** Node's HTTP parser. Null after an upgrade, such as to a WebSocket. */
  readonly parser?: object | null;
  /** Handle of the system's connection. Null after it was closed. */
  _handle?: { readonly writeQueueSize?: number; readonly fd?: number } | null;
  /** The server that counts the connection until it closes. */
  _server: NetServer | null;
  server: NetServer | null;
}

/** Fields of a response that `writeHead` sets. */
interface NodeHead {
  _header: string | null;
  _contentLength: number | null;
  _last: boolean;
  _keepAliveTimeout: number;
  readonly _maxRequestsPerSocket: number;
  maxRequestsOnConnectionReached?: boolean;
}

type Head = ServerResponse & NodeHead;

/**
 * Returns the response of the current request on a connection. Returns null if no request is running, or after an
 * upgrade.
 */
export function currentResponse(socket: Socket): NodeResponse | null {
  return (socket as NodeSocket)._httpMessage ?? null;
}

/** Reports whether Node's parser reads a connection. Returns false before the first byte and after an upgrade. */
export function isReadByParser(socket: Socket): boolean {
  return ((socket as NodeSocket).parser ?? null) !== null;
}

/**
 * Returns the number of bytes in the socket's write queue that the kernel has not accepted. `writableLength` does not
 * include them.
 */
export function queuedBytes(socket: Socket): number {
  return (socket as NodeSocket)._handle?.writeQueueSize ?? 0;
}

/** Returns the file descriptor of a connection. Returns -1 on Windows and for a closed connection. */
export function descriptorOf(socket: Socket): number {
  return (socket as NodeSocket)._handle?.fd ?? -1;
}

/**
 * Replaces an accepted socket by one that reads into a given buffer. The server still counts the connection. The
 * accepted socket is detached and can no longer be used.
 */
export function reopenWith(accepted: Socket, onread: OnReadOpts): Socket {
  const { _handle: handle, server } = accepted as NodeSocket;
  const options = { handle, allowHalfOpen: true, onread };
  (accepted as NodeSocket)._handle = null;
  const socket = new Socket(options as unknown as SocketConstructorOpts) as NodeSocket;
  socket.server = server;
  socket._server = server;
  return socket;
}

/** Makes Node's server continue requests of half-closed clients. */
export function keepHalfClosed(server: Server): void {
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
}

/** Sets the timeout for the response's `Keep-Alive` field. */
export function setKeepAliveTimeout(response: ServerResponse, timeoutMs: number): void {
  (response as Head)._keepAliveTimeout = timeoutMs;
}

/** Returns the timeout for the response's `Keep-Alive` field, in milliseconds. */
export function keepAliveTimeoutOf(response: ServerResponse): number {
  return (response as Head)._keepAliveTimeout;
}

/** Returns how many requests the connection of a response may serve. Returns 0 if there is no limit. */
export function maxRequestsOf(response: ServerResponse): number {
  return (response as Head)._maxRequestsPerSocket;
}

/** Sets a complete response head, as `writeHead` would. Only a body of `bodyBytes` may follow. */
export function setHead(response: ServerResponse, head: string, bodyBytes: number): void {
  (response as Head)._header = head;
  (response as Head)._contentLength = bodyBytes;
}

/** Makes Node close the connection after a response whose head was set with `setHead`. */
export function closeAfter(response: ServerResponse): void {
  (response as Head)._last = true;
}

/** Reports whether Node has marked this as the last request that its connection may serve. */
export function isLastAllowed(response: ServerResponse): boolean {
  return (response as Head).maxRequestsOnConnectionReached === true;
}

/** Removes the mark of `isLastAllowed`. Node then keeps the connection open, and rejects further requests with 503. */
export function forgetLastAllowed(response: ServerResponse): void {
  (response as Head).maxRequestsOnConnectionReached = false;
}

export type WriteDone = (error?: Error | null) => void;
type Write = (chunk: unknown, encoding: BufferEncoding, done: WriteDone) => void;
type WriteMany = (chunks: { chunk: unknown; encoding: BufferEncoding }[], done: WriteDone) => void;

/**
 * Wraps the callback of each write.
 * @param wrap returns a callback, which learns the result of the write before the socket does
 */
export function interceptWrites(socket: Socket, wrap: (done: WriteDone) => WriteDone): void {
  const write: Write = socket._write.bind(socket);
  const writeMany: WriteMany | undefined = socket._writev?.bind(socket);
  socket._write = (chunk: unknown, encoding, done) => write(chunk, encoding, wrap(done));
  if (writeMany === undefined) return;
  socket._writev = (chunks, done) => writeMany(chunks, wrap(done));
}
