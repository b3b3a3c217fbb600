/**
 * Sends WebSocket handshakes (RFC 6455 section 4) to backends through `http-proxy`, which pipes the bytes after both
 * sides have agreed.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createProxyServer } from 'http-proxy';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Receives the result of a handshake. */
export interface HandshakeListener {
  /** The request to the backend was created and has not been sent yet. */
  onOutgoing(outgoing: ClientRequest): void;
  /** The backend agreed. After this call, the library writes a 101 response with `response.headers`. */
  onUpgrade(response: IncomingMessage, backend: Socket): void;
  /** The backend sent another response. */
  onResponse(response: IncomingMessage): void;
  /** The connection failed. This can also follow `onUpgrade`. */
  onError(error: Error): void;
}

/** The subset of a request that `http-proxy` reads, and the listener. */
interface Handshake {
  readonly method: 'GET';
  readonly url: string;
  readonly httpVersion: '1.1';
  readonly httpVersionMajor: 1;
  readonly headers: Record<string, string | string[]>;
  readonly listener: HandshakeListener;
}

const proxy = createProxyServer({});
// Errors of client connections are also emitted here. Without a listener they would end the process.
proxy.on('error', () => undefined);
proxy.on('proxyReqWs', (outgoing: unknown, handshake: unknown) =>
  followHandshake(outgoing as ClientRequest, (handshake as Handshake).listener),
);

/** Sends a client's handshake to a backend. @param head bytes that the client sent after it. */
export function sendHandshake(
  { origin, prefix, address, tls, config }: Endpoint,
  request: ForwardRequest,
  head: Buffer,
  listener: HandshakeListener,
): void {
  const { protocol, host, hostname, port } = new URL(origin);
  const { socket } = request.message;
  const handshake: Handshake = {
    method: 'GET',
    url: prefix + request.path,
    httpVersion: '1.1',
    httpVersionMajor: 1,
    // `Host` is also the name that the certificate is checked against.
    headers: { ...headersOf(request.fieldLines), host, connection: 'Upgrade', upgrade: 'websocket' },
    listener,
  };
  const target = {
    protocol,
    host: address?.address ?? hostname,
    hostname: address?.address ?? hostname,
    port,
    ...tls?.current,
  };
  const options = { target, ssl: { ...tls?.serverName }, connectTimeout: config.timeouts.connect };
  keepOpen(socket);
  proxy.ws(handshake as unknown as IncomingMessage, socket as Socket, head, options as object, (error: Error) =>
    listener.onError(error),
  );
}

/** Keeps the library from closing the client's connection after an error. The client still gets a response on it. */
function keepOpen(socket: Socket): void {
  socket.destroySoon = () => undefined;
}

/** Restores `destroySoon`, which `sendHandshake` overrides on the client's connection. */
export function letClose(socket: Socket): void {
  Reflect.deleteProperty(socket, 'destroySoon');
}

function followHandshake(outgoing: ClientRequest, listener: HandshakeListener): void {
  listener.onOutgoing(outgoing);
  outgoing.on('upgrade', (response: IncomingMessage, backend: Socket) => listener.onUpgrade(response, backend));
  outgoing.on('response', (response: IncomingMessage) => listener.onResponse(response));
  // Removes the library's own listener, which would pass the response on unchanged.
  outgoing.on('newListener', (event: string, added: () => void) => {
    if (event === 'response') process.nextTick(() => outgoing.off('response', added));
  });
}

/** Converts field lines into an object. Repeated fields become a list. */
export function headersOf(lines: string): Record<string, string | string[]> {
  const fields = fieldsOfLines(lines);
  const byName: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    const before = byName[name];
    byName[name] = before === undefined ? value : [before, value].flat();
  }
  return byName;
}
