/**
 * Gives the connections of a server to `plain-connection.ts` first. Node's server counts them, and gets each that turns
 * out not to be plain.
 */
import type { Server } from 'node:http';
import type { OnReadOpts, Socket } from 'node:net';
import { reopenWith } from '../../platform/node-internals.js';
import { plainConnectionOf, PlainConnection, type PlainRequestServer } from './plain-connection.js';
import { keepAliveLines } from './whole-response.js';

const READ_BYTES = 64 * 1024;

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
export interface PlainRequestHandler extends Pick<PlainRequestServer, 'serve'> {
  /** How long a connection may idle, as its client is told. */
  readonly keepAliveTimeoutMs: number;
}

type ConnectionListener = (this: Server, socket: Socket) => void;

/** Stands before the listeners that a server has for connections, which get the socket that is read here. */
export function readPlainRequests(server: Server, { keepAliveTimeoutMs, serve }: PlainRequestHandler): void {
  const listeners = server.listeners('connection') as ConnectionListener[];
  const [nodes, ...others] = listeners;
  if (nodes === undefined) throw new Error('Node has no listener for the connections of its server');
  let lines = '';
  let linesFor = -1;
  const owner: PlainRequestServer = {
    get mostRequests() {
      return server.maxRequestsPerSocket ?? 0;
    },
    get keepAliveLines() {
      const most = owner.mostRequests;
      if (most !== linesFor) {
        linesFor = most;
        lines = keepAliveLines(keepAliveTimeoutMs, most);
      }
      return lines;
    },
    serve,
    handOver: (socket) => nodes.call(server, socket),
    onFailure: (error, socket) => void server.emit('clientError', error, socket),
  };
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
