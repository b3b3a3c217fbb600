/**
 * Makes `plain-connection.ts` read new connections before Node does. Node's server counts all connections, and takes
 * over the connections with requests that are not plain.
 */
import type { Server } from 'node:http';
import type { OnReadOpts, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { reopenWith } from '../../platform/node-internals.js';
import { plainConnectionOf, PlainConnection, type PlainRequestServer } from './plain-connection.js';
import { keepAliveLines } from './whole-response.js';

const READ_BYTES = 64 * 1024;
/** How long to wait for the rest of a small body, in ms. Most clients send the body right after the head. */
const BODY_WAIT_MS = 200;

/** Read buffer that all connections without TLS share. Readers use or copy the data before the next read. */
const sharedBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
const ONREAD: OnReadOpts = {
  buffer: sharedBuffer,
  // Node calls this function as a method of the socket, so one function serves all connections.
  callback: function onRead(this: Socket, bytes: number): boolean {
    return plainConnectionOf(this)?.onRead(bytes, sharedBuffer) ?? true;
  } as OnReadOpts['callback'],
};

export interface PlainRequestHandler
  extends Pick<PlainRequestServer, 'serve'>, Partial<Pick<PlainRequestServer, 'bodyWaitMs'>> {
  /** Idle timeout that is announced to the client. */
  readonly keepAliveTimeoutMs: number;
}

type ConnectionListener = (this: Server, socket: Socket) => void;

/**
 * Reads the connections of a server without TLS. The other `connection` listeners get the socket that replaces the
 * accepted one. Node's own listener gets that socket only when the connection is handed over.
 */
export function readPlainRequests(server: Server, handler: PlainRequestHandler): void {
  const listeners = server.listeners('connection') as ConnectionListener[];
  const [nodeListener, ...others] = listeners;
  if (nodeListener === undefined) throw new Error('Node has no listener for the connections of its server');
  const requestServer = createRequestServer(server, handler, false, (socket) => nodeListener.call(server, socket));
  server.removeAllListeners('connection');
  server.on('connection', (accepted: Socket) => {
    // Read the bytes that an earlier reader has put back, such as the bytes after a PROXY protocol header.
    const unread = accepted.readableLength === 0 ? null : (accepted.read() as Buffer | null);
    const socket = reopenForReading(accepted);
    const connection = new PlainConnection(socket, requestServer);
    for (const other of others) other.call(server, socket);
    if (unread === null) return;
    connection.onRead(unread.copy(sharedBuffer), sharedBuffer);
  });
}

/**
 * Creates a listener that reads TLS connections after their handshake. Decrypted data arrives in separate buffers. A
 * write has encrypted, and so copied, its data when it returns.
 * @param nodeListener Node's listener, which takes over the connections that are not plain.
 * @returns the listener to call with each connection that negotiated HTTP/1.1.
 */
export function plainTlsListener(
  server: Server,
  nodeListener: (socket: TLSSocket) => void,
  handler: PlainRequestHandler,
): (socket: TLSSocket) => void {
  const requestServer = createRequestServer(server, handler, true, (socket) => {
    socket.off('data', onDecrypted);
    nodeListener(socket as TLSSocket);
  });
  return (socket) => {
    void new PlainConnection(socket, requestServer);
    // A client that closes its side may still wait for its response; see `half-closed.ts`.
    socket.allowHalfOpen = true;
    socket.on('data', onDecrypted);
  };
}

function onDecrypted(this: TLSSocket, piece: Buffer): void {
  plainConnectionOf(this)?.onRead(piece.length, piece);
}

function createRequestServer(
  server: Server,
  { keepAliveTimeoutMs, bodyWaitMs = BODY_WAIT_MS, serve }: PlainRequestHandler,
  isEncrypted: boolean,
  handOver: (socket: Socket) => void,
): PlainRequestServer {
  let lines = '';
  let linesFor = -1;
  return {
    get mostRequests() {
      return server.maxRequestsPerSocket ?? 0;
    },
    get keepAliveLines() {
      const limit = server.maxRequestsPerSocket ?? 0;
      if (limit !== linesFor) {
        linesFor = limit;
        lines = keepAliveLines(keepAliveTimeoutMs, limit);
      }
      return lines;
    },
    isEncrypted,
    bodyWaitMs,
    serve,
    handOver,
    onFailure: (error, socket) => void server.emit('clientError', error, socket),
  };
}

function remoteProperties(socket: Socket): PropertyDescriptorMap {
  const { remoteAddress, remotePort, remoteFamily } = Object.getOwnPropertyDescriptors(socket) as PropertyDescriptorMap;
  return { remoteAddress, remotePort, remoteFamily } as PropertyDescriptorMap;
}

/**
 * Creates a socket that replaces the accepted one. The new socket reads into the shared buffer, and emits no event for
 * each piece.
 */
function reopenForReading(accepted: Socket): Socket {
  const socket = reopenWith(accepted, ONREAD);
  // Copy the client address from a PROXY protocol header (`proxied-connections.ts`).
  if (Object.hasOwn(accepted, 'remoteAddress')) Object.defineProperties(socket, remoteProperties(accepted));
  return socket;
}
