/**
 * Gives the connections of a server to `plain-connection.ts` first. Node's server counts them, and gets each that turns
 * out not to be plain.
 */
import type { Server } from 'node:http';
import type { OnReadOpts, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { reopenWith } from '../../platform/node-internals.js';
import { plainConnectionOf, PlainConnection, type PlainRequestServer } from './plain-connection.js';
import { keepAliveLines } from './whole-response.js';

const READ_BYTES = 64 * 1024;
/** Most clients send a small body right behind its head. */
const BODY_WAIT_MS = 200;

/** What every connection reads into: a piece is used or copied before the next one is read. */
const sharedBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
const ONREAD: OnReadOpts = {
  buffer: sharedBuffer,
  // Node calls it as a method of the socket: the same function for all.
  callback: function onRead(this: Socket, bytes: number): boolean {
    return plainConnectionOf(this)?.onRead(bytes, sharedBuffer) ?? true;
  } as OnReadOpts['callback'],
};

/** What is done with plain requests; see `PlainRequestServer`. */
export interface PlainRequestHandler
  extends Pick<PlainRequestServer, 'serve'>, Partial<Pick<PlainRequestServer, 'bodyWaitMs'>> {
  /** How long a connection may idle, as its client is told. */
  readonly keepAliveTimeoutMs: number;
}

type ConnectionListener = (this: Server, socket: Socket) => void;

/** Stands before the listeners that a server has for connections, which get the socket that is read here. */
export function readPlainRequests(server: Server, handler: PlainRequestHandler): void {
  const listeners = server.listeners('connection') as ConnectionListener[];
  const [nodes, ...others] = listeners;
  if (nodes === undefined) throw new Error('Node has no listener for the connections of its server');
  const owner = ownerFor(server, handler, false, (socket) => nodes.call(server, socket));
  server.removeAllListeners('connection');
  server.on('connection', (accepted: Socket) => {
    // What somebody before us has read and put back: the bytes behind the header of a load balancer.
    const unread = accepted.readableLength === 0 ? null : (accepted.read() as Buffer | null);
    const socket = readByHand(accepted);
    const connection = new PlainConnection(socket, owner);
    for (const other of others) other.call(server, socket);
    if (unread === null) return;
    connection.onRead(unread.copy(sharedBuffer), sharedBuffer);
  });
}

/**
 * The same over TLS, for connections whose handshake is done. What TLS has decrypted comes as a buffer of its own, and
 * a response that is written has been encrypted, so copied, when the write returns.
 * @param nodes Node's listener for such a connection, which gets those that turn out not to be plain.
 * @returns what is to be called with each connection that speaks HTTP/1.1.
 */
export function plainTlsListener(
  server: Server,
  nodes: (socket: TLSSocket) => void,
  handler: PlainRequestHandler,
): (socket: TLSSocket) => void {
  const owner = ownerFor(server, handler, true, (socket) => {
    socket.off('data', onDecrypted);
    nodes(socket as TLSSocket);
  });
  return (socket) => {
    void new PlainConnection(socket, owner);
    // A client that closes its side may wait for its response; see `half-closed.ts`.
    socket.allowHalfOpen = true;
    socket.on('data', onDecrypted);
  };
}

/** The same function for all connections. */
function onDecrypted(this: TLSSocket, piece: Buffer): void {
  plainConnectionOf(this)?.onRead(piece.length, piece);
}

function ownerFor(
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
      const most = server.maxRequestsPerSocket ?? 0;
      if (most !== linesFor) {
        linesFor = most;
        lines = keepAliveLines(keepAliveTimeoutMs, most);
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

function toldOf(socket: Socket): PropertyDescriptorMap {
  const { remoteAddress, remotePort, remoteFamily } = Object.getOwnPropertyDescriptors(socket) as PropertyDescriptorMap;
  return { remoteAddress, remotePort, remoteFamily } as PropertyDescriptorMap;
}

/**
 * A socket in the place of the one that was accepted, which reads without making a
 * buffer, and an event, of every piece.
 */
function readByHand(accepted: Socket): Socket {
  const socket = reopenWith(accepted, ONREAD);
  // Its client's address, where a load balancer has told it (`proxied-connections.ts`).
  if (Object.hasOwn(accepted, 'remoteAddress')) Object.defineProperties(socket, toldOf(accepted));
  return socket;
}
