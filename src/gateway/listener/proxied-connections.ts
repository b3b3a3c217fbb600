/**
 * Reads the client addresses of connections through load balancers that send the PROXY protocol. Only senders listed in
 * `gateway.proxyProtocol` are trusted, and their connections must start with the header. A connection without it is
 * closed, because a client could otherwise choose its address. Costs nothing per request, and nothing at all if not
 * configured.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { METRICS } from '../../platform/metrics.js';
import { NetworkList } from '../../platform/network-list.js';
import { readProxyHeader, type ProxySource } from './proxy-protocol.js';

/** Time to receive the header, which load balancers send first. */
const HEADER_TIMEOUT_MS = 5_000;

type ConnectionListener = (this: Server, socket: Socket) => void;

/**
 * Reads the header before the server's listeners get the connection, so that they find the client's address.
 * @param from addresses and networks of the load balancers
 */
export function readProxyProtocol(server: Server, from: readonly string[]): void {
  if (from.length === 0) return;
  const list = NetworkList.of(from);
  const listeners = server.listeners('connection') as ConnectionListener[];
  const passOn = (socket: Socket): void => listeners.forEach((listener) => listener.call(server, socket));
  server.removeAllListeners('connection');
  const clientAddresses = new ClientAddresses();
  server.on('connection', (socket: Socket) => {
    if (list.holds(socket.remoteAddress ?? '')) readHeader(socket, clientAddresses, passOn);
    else passOn(socket);
  });
  // Gives the TLS socket the address of the underlying connection.
  if ('setSecureContext' in server) {
    server.prependListener('secureConnection', (socket: Socket) => clientAddresses.apply(socket));
  }
}

/** Reads the header, then passes on the connection with the remaining bytes unread. */
function readHeader(socket: Socket, clientAddresses: ClientAddresses, passOn: (socket: Socket) => void): void {
  let read = Buffer.alloc(0);
  const disconnect = (): void => {
    METRICS.connectionsCut.series('proxy_protocol').inc();
    socket.destroy();
  };
  const timer = setTimeout(disconnect, HEADER_TIMEOUT_MS);
  const onError = (): void => void socket.destroy();
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    read = Buffer.concat([read, chunk]);
    const header = readProxyHeader(read);
    if (header === 'more') return;
    if (header === 'broken') {
      disconnect();
      return;
    }
    stop();
    if (header.source !== undefined) clientAddresses.setSource(socket, header.source);
    if (read.length > header.bytes) socket.unshift(read.subarray(header.bytes));
    passOn(socket);
  };
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', onError).off('error', onError).off('close', stop);
  };
  socket.on('readable', onReadable).on('end', onError).on('error', onError).on('close', stop);
}

/** Client addresses of open connections, keyed by both ends of the connection. */
class ClientAddresses {
  private readonly sources = new Map<string, ProxySource>();

  setSource(socket: Socket, source: ProxySource): void {
    const ends = endsOf(socket);
    this.sources.set(ends, source);
    socket.once('close', () => this.sources.delete(ends));
    setSource(socket, source);
  }

  /** Sets the address of a TLS socket from the underlying connection. */
  apply(socket: Socket): void {
    const source = this.sources.get(endsOf(socket));
    if (source !== undefined) setSource(socket, source);
  }
}

function endsOf({ remoteAddress = '', remotePort = 0 }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function setSource(socket: Socket, { address, port }: ProxySource): void {
  Object.defineProperties(socket, {
    remoteAddress: { value: address, configurable: true },
    remotePort: { value: port, configurable: true },
    remoteFamily: { value: address.includes(':') ? 'IPv6' : 'IPv4', configurable: true },
  });
}
