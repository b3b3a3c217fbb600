/**
 * Reads the client addresses of connections through load balancers that send the PROXY protocol. Only the senders in
 * `gateway.proxyProtocol` are trusted, and their connections must start with the header. One of them without the header
 * is closed, because its client could otherwise choose the address. Other connections are served without the header.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { METRICS } from '../../platform/metrics.js';
import { NetworkList } from '../../platform/network-list.js';
import { readProxyHeader, type ProxySource } from './proxy-protocol.js';

/** Timeout for the header, in ms. Load balancers send the header first. */
const HEADER_TIMEOUT_MS = 5_000;

type ConnectionListener = (this: Server, socket: Socket) => void;

/**
 * Reads the PROXY header before the server's listeners receive the connection, so that they see the client's address.
 * @param from addresses and networks of the load balancers; empty to disable the protocol
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
  // Set the client address of the TLS socket from the underlying connection.
  if ('setSecureContext' in server) {
    server.prependListener('secureConnection', (socket: Socket) => clientAddresses.apply(socket));
  }
}

/**
 * Reads the header, then passes on the connection with the remaining bytes unread. Closes the connection if the header
 * is invalid or late.
 */
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

/** ClientAddresses stores the client addresses of open connections by the address and port of the load balancer. */
class ClientAddresses {
  private readonly sources = new Map<string, ProxySource>();

  setSource(socket: Socket, source: ProxySource): void {
    const ends = endsOf(socket);
    this.sources.set(ends, source);
    socket.once('close', () => this.sources.delete(ends));
    setSource(socket, source);
  }

  /** Sets the client address of a TLS socket, if its underlying connection has one. */
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
