/**
 * Connections that come through a load balancer which passes bytes on and says in front of them whose they are (the
 * PROXY protocol). Only the addresses that `gateway.proxyProtocol` names are believed, and from those it must come: a
 * connection without it is cut, because guessing would let a client choose its address. Nothing here costs a request;
 * where it is not configured, nothing is installed.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { METRICS } from '../../platform/metrics.js';
import { NetworkList } from '../../platform/network-list.js';
import { readProxyHeader, type ProxySource } from './proxy-protocol.js';

/** Until the header has come whole: it is the first that a load balancer sends. */
const HEADER_TIMEOUT_MS = 5_000;

type ConnectionListener = (this: Server, socket: Socket) => void;

/** Stands before the listeners that a server has for connections; they see the address of the client. */
export function readProxyProtocol(server: Server, from: readonly string[]): void {
  if (from.length === 0) return;
  const list = NetworkList.of(from);
  const listeners = server.listeners('connection') as ConnectionListener[];
  const pass = (socket: Socket): void => listeners.forEach((listener) => listener.call(server, socket));
  server.removeAllListeners('connection');
  const told = new ToldSources();
  server.on('connection', (socket: Socket) => {
    if (list.holds(socket.remoteAddress ?? '')) readHeader(socket, told, pass);
    else pass(socket);
  });
  // The connection that TLS makes of it has the address of the one below.
  if ('setSecureContext' in server) server.prependListener('secureConnection', (socket: Socket) => told.apply(socket));
}

/** Reads the header, and hands the connection on with what came behind it still to be read. */
function readHeader(socket: Socket, told: ToldSources, pass: (socket: Socket) => void): void {
  let read = Buffer.alloc(0);
  const cut = (): void => {
    METRICS.connectionsCut.series('proxy_protocol').inc();
    socket.destroy();
  };
  const timer = setTimeout(cut, HEADER_TIMEOUT_MS);
  const onError = (): void => void socket.destroy();
  const onReadable = (): void => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    read = Buffer.concat([read, chunk]);
    const header = readProxyHeader(read);
    if (header === 'more') return;
    if (header === 'broken') {
      cut();
      return;
    }
    stop();
    if (header.source !== undefined) told.note(socket, header.source);
    if (read.length > header.bytes) socket.unshift(read.subarray(header.bytes));
    pass(socket);
  };
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', onError).off('error', onError).off('close', stop);
  };
  socket.on('readable', onReadable).on('end', onError).on('error', onError).on('close', stop);
}

/** What load balancers have said of connections, by the two ends of each that are open. */
class ToldSources {
  private readonly sources = new Map<string, ProxySource>();

  note(socket: Socket, source: ProxySource): void {
    const ends = endsOf(socket);
    this.sources.set(ends, source);
    socket.once('close', () => this.sources.delete(ends));
    setSource(socket, source);
  }

  /** Gives a connection over one that was noted the same address. */
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
