/**
 * The handshake of a WebSocket (RFC 6455 section 4) on its way to a backend, by `http-proxy`, which passes the bytes
 * once both sides have agreed.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { createProxyServer } from 'http-proxy';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Who is told what becomes of a handshake. */
export interface HandshakeListener {
  /** The request to the backend exists and has not been sent. */
  onOutgoing(outgoing: ClientRequest): void;
  /** The backend agrees: when this returns, the library writes 101 with the `headers` of the response. */
  onUpgrade(response: IncomingMessage, backend: Socket): void;
  /** The backend responds with something else. */
  onResponse(response: IncomingMessage): void;
  /** No connection, or one that broke; also one that broke after `onUpgrade`. */
  onError(error: Error): void;
}

/** As `http-proxy` wants it: what it reads of a request, and who asks. */
interface Handshake {
  readonly method: 'GET';
  readonly url: string;
  readonly httpVersion: '1.1';
  readonly httpVersionMajor: 1;
  readonly headers: Record<string, string | string[]>;
  readonly listener: HandshakeListener;
}

const proxy = createProxyServer({});
// Whatever becomes of a client's connection comes by here as well, as an error that would end the process if nobody
// listened.
proxy.on('error', () => undefined);
proxy.on('proxyReqWs', (outgoing: unknown, handshake: unknown) =>
  followHandshake(outgoing as ClientRequest, (handshake as Handshake).listener),
);

/** Sends the handshake of a client to a backend. @param head what the client has sent behind it. */
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
    // `Host` also is the name that a certificate is checked against.
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

/** Keeps the library from ending a client's connection after an error: there the client still gets its response. */
function keepOpen(socket: Socket): void {
  socket.destroySoon = () => undefined;
}

/** Ends what a handshake has done to the client's connection. */
export function letClose(socket: Socket): void {
  Reflect.deleteProperty(socket, 'destroySoon');
}

function followHandshake(outgoing: ClientRequest, listener: HandshakeListener): void {
  listener.onOutgoing(outgoing);
  outgoing.on('upgrade', (response: IncomingMessage, backend: Socket) => listener.onUpgrade(response, backend));
  outgoing.on('response', (response: IncomingMessage) => listener.onResponse(response));
  // The library would pass such a response on as it is.
  outgoing.on('newListener', (event: string, added: () => void) => {
    if (event === 'response') process.nextTick(() => outgoing.off('response', added));
  });
}

/** Field lines by name, as Node and the library want them; several of one name in a list. */
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
