/**
 * What Node keeps to itself of connections and responses, and we read or set all the same: no other file may. Each
 * function here says what it rests on; `node-internals.spec.ts` tries that on the Node that the project pins, so that a
 * newer one in which something has gone or works otherwise fails there, not under a client.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Socket, type OnReadOpts, type Server as NetServer, type SocketConstructorOpts } from 'node:net';

/** A response of Node's server, with the request that it belongs to. */
export type NodeResponse = ServerResponse & { readonly req: IncomingMessage };

/** A connection as Node's servers have it. */
interface NodeSocket extends Socket {
  /** The response whose turn it is to be written; null or missing where none is. */
  readonly _httpMessage?: NodeResponse | null;
  /** Node's HTTP parser; null once the connection is taken out of HTTP, as for a WebSocket. */
  readonly parser?: object | null;
  /** The system's connection; null once it is closed. */
  _handle?: { readonly writeQueueSize?: number; readonly fd?: number } | null;
  /** The server that counts it, until it closes. */
  _server: NetServer | null;
  server: NetServer | null;
}

/** A response as `writeHead` leaves it. */
interface NodeHead {
  _header: string | null;
  _contentLength: number | null;
  _last: boolean;
  _keepAliveTimeout: number;
  readonly _maxRequestsPerSocket: number;
  maxRequestsOnConnectionReached?: boolean;
}

type Head = ServerResponse & NodeHead;

/** Gives the response whose turn it is on a connection that Node reads; null where no request is under way. */
export function responseUnderWay(socket: Socket): NodeResponse | null {
  return (socket as NodeSocket)._httpMessage ?? null;
}

/**
 * Tells whether Node's parser reads a connection: not before the first byte of some,
 * and no longer once it is a WebSocket.
 */
export function isReadByParser(socket: Socket): boolean {
  return ((socket as NodeSocket).parser ?? null) !== null;
}

/**
 * Counts the bytes that were handed to the system and that it has not taken yet; `writableLength` does not have them.
 */
export function queuedBytes(socket: Socket): number {
  return (socket as NodeSocket)._handle?.writeQueueSize ?? 0;
}

/** Gives the file descriptor of a connection; -1 where it has none, as on Windows or once it is closed. */
export function descriptorOf(socket: Socket): number {
  return (socket as NodeSocket)._handle?.fd ?? -1;
}

/**
 * Puts a socket in the place of one that a server has accepted, which then reads into a buffer of ours instead of
 * making one of every piece. The server goes on counting it; the socket that was accepted has nothing any more.
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

/** Makes Node's server go on with requests whose clients have closed their side of the connection. */
export function keepHalfClosed(server: Server): void {
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
}

/** Sets what a response tells of the time that its connection may idle. */
export function setKeepAliveTimeout(response: ServerResponse, timeoutMs: number): void {
  (response as Head)._keepAliveTimeout = timeoutMs;
}

/** Gives the time that was set so, in milliseconds. */
export function keepAliveTimeoutOf(response: ServerResponse): number {
  return (response as Head)._keepAliveTimeout;
}

/** Gives how many requests the connection of a response may have; 0: any number. */
export function mostRequestsOf(response: ServerResponse): number {
  return (response as Head)._maxRequestsPerSocket;
}

/** Sets a whole head as `writeHead` would have written it; what follows is only the body, of so many bytes. */
export function setHead(response: ServerResponse, head: string, bodyBytes: number): void {
  (response as Head)._header = head;
  (response as Head)._contentLength = bodyBytes;
}

/** Makes Node close the connection behind a response whose head was set by `setHead`. */
export function closeBehind(response: ServerResponse): void {
  (response as Head)._last = true;
}

/** Tells whether Node has noted that this is the last request that its connection may have. */
export function isLastAllowed(response: ServerResponse): boolean {
  return (response as Head).maxRequestsOnConnectionReached === true;
}

/** Takes that note away: Node goes on behind such a response, and refuses what comes with 503. */
export function forgetLastAllowed(response: ServerResponse): void {
  (response as Head).maxRequestsOnConnectionReached = false;
}

/** Called when a write has left, or has failed. */
export type WriteDone = (error?: Error | null) => void;
type Write = (chunk: unknown, encoding: BufferEncoding, done: WriteDone) => void;
type WriteMany = (chunks: { chunk: unknown; encoding: BufferEncoding }[], done: WriteDone) => void;

/** Has a function look at the end of each write of a socket before the socket hears of it. */
export function interceptWrites(socket: Socket, wrap: (done: WriteDone) => WriteDone): void {
  const write: Write = socket._write.bind(socket);
  const writeMany: WriteMany | undefined = socket._writev?.bind(socket);
  socket._write = (chunk: unknown, encoding, done) => write(chunk, encoding, wrap(done));
  if (writeMany === undefined) return;
  socket._writev = (chunks, done) => writeMany(chunks, wrap(done));
}
