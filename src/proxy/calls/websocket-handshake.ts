/**
 * Sends WebSocket handshakes (RFC 6455 section 4) to backends through `http-proxy`. If the backend accepts, the library
 * pipes the two connections together. A `HandshakeListener` receives every result.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createProxyServer } from 'http-proxy';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** HandshakeListener receives the result of a handshake. */
export interface HandshakeListener {
  /** Called when the request to the backend was created and has not been sent yet. */
  onOutgoing(outgoing: ClientRequest): void;
  /** Called when the backend accepted. The library then writes a 101 response with `response.headers`. */
  onUpgrade(response: IncomingMessage, backend: Socket): void;
  /** Called when the backend sent any other response. */
  onResponse(response: IncomingMessage): void;
  /** Called when the connection failed, possibly after `onUpgrade`. */
  onError(error: Error): void;
}

/** The properties of a request that `http-proxy` reads, and the listener of the handshake. */
interface Handshake {
  readonly method: 'GET';
  readonly url: string;
  readonly httpVersion: '1.1';
  readonly httpVersionMajor: 1;
  readonly headers: Record<string, string | string[]>;
  readonly listener: HandshakeListener;
}

const proxy = createProxyServer({});
// The proxy also emits errors of client connections. Without a listener, these errors would end the process.
proxy.on('error', () => undefined);
proxy.on('proxyReqWs', (outgoing: unknown, handshake: unknown) =>
  followHandshake(outgoing as ClientRequest, (handshake as Handshake).listener),
);

/** Sends a client's handshake to a backend. @param head bytes that the client sent after its handshake. */
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
    // `http-proxy` also checks the certificate against `Host`.
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

/** Prevents `http-proxy` from closing the client's connection after an error, because a response must follow. */
function keepOpen(socket: Socket): void {
  socket.destroySoon = () => undefined;
}

/** Allows the client's connection to be closed again: restores `destroySoon`, which `sendHandshake` overrides. */
export function letClose(socket: Socket): void {
  Reflect.deleteProperty(socket, 'destroySoon');
}

function followHandshake(outgoing: ClientRequest, listener: HandshakeListener): void {
  listener.onOutgoing(outgoing);
  outgoing.on('upgrade', (response: IncomingMessage, backend: Socket) => listener.onUpgrade(response, backend));
  outgoing.on('response', (response: IncomingMessage) => listener.onResponse(response));
  // Remove the library's own listener, which would send the response to the client unchanged.
  outgoing.on('newListener', (event: string, added: () => void) => {
    if (event === 'response') process.nextTick(() => outgoing.off('response', added));
  });
}

/** Converts field lines into an object. If a field name repeats with the same spelling, its values become a list. */
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
