/**
 * All uses of Node's private properties of connections and responses. `node-internals.spec.ts` verifies each assumption
 * on the Node version that the project uses, so that incompatible changes in Node fail a test.
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

/** Returns the response being written on a connection that Node reads, or null if no request is running. */
export function responseUnderWay(socket: Socket): NodeResponse | null {
  return (socket as NodeSocket)._httpMessage ?? null;
}

/** Whether Node's parser reads a connection. False before its first byte and after an upgrade. */
export function isReadByParser(socket: Socket): boolean {
  return ((socket as NodeSocket).parser ?? null) !== null;
}

/** Returns the bytes in the socket's write queue that the kernel has not taken. `writableLength` does not include them. */
export function queuedBytes(socket: Socket): number {
  return (socket as NodeSocket)._handle?.writeQueueSize ?? 0;
}

/** Returns the file descriptor of a connection, or -1 on Windows and after it was closed. */
export function descriptorOf(socket: Socket): number {
  return (socket as NodeSocket)._handle?.fd ?? -1;
}

/**
 * Replaces an accepted socket by one that reads into a given buffer. The server keeps counting it. The accepted socket
 * is detached and cannot be used any more.
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

/** Returns that timeout in milliseconds. */
export function keepAliveTimeoutOf(response: ServerResponse): number {
  return (response as Head)._keepAliveTimeout;
}

/** Returns how many requests the connection of a response may serve; 0 for no limit. */
export function maxRequestsOf(response: ServerResponse): number {
  return (response as Head)._maxRequestsPerSocket;
}

/** Sets a complete head, as `writeHead` would. Only a body of this size may follow. */
export function setHead(response: ServerResponse, head: string, bodyBytes: number): void {
  (response as Head)._header = head;
  (response as Head)._contentLength = bodyBytes;
}

/** Makes Node close the connection after a response whose head was set with `setHead`. */
export function closeAfter(response: ServerResponse): void {
  (response as Head)._last = true;
}

/** Whether Node has marked this as the last request of its connection. */
export function isLastAllowed(response: ServerResponse): boolean {
  return (response as Head).maxRequestsOnConnectionReached === true;
}

/** Removes that mark. Node then continues the connection, and rejects further requests with 503. */
export function forgetLastAllowed(response: ServerResponse): void {
  (response as Head).maxRequestsOnConnectionReached = false;
}

export type WriteDone = (error?: Error | null) => void;
type Write = (chunk: unknown, encoding: BufferEncoding, done: WriteDone) => void;
type WriteMany = (chunks: { chunk: unknown; encoding: BufferEncoding }[], done: WriteDone) => void;

/** Wraps the callback of each write, so that a function sees the result before the socket does. */
export function interceptWrites(socket: Socket, wrap: (done: WriteDone) => WriteDone): void {
  const write: Write = socket._write.bind(socket);
  const writeMany: WriteMany | undefined = socket._writev?.bind(socket);
  socket._write = (chunk: unknown, encoding, done) => write(chunk, encoding, wrap(done));
  if (writeMany === undefined) return;
  socket._writev = (chunks, done) => writeMany(chunks, wrap(done));
}
