/**
 * The last response of a connection: it reaches a client that is still sending, and nothing that follows it is served.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { discardRest } from '../../proxy/calls/discard-body.js';

/** How long a client may take to close its side when ours has ended. */
const CLOSE_TIMEOUT_MS = 2_000;

const closing = new WeakSet<Socket>();

/**
 * Ends a connection that Node's server has let go of, with what may still be written to it. Whatever comes after that
 * is thrown away, and a client that does not close its side as well is cut: nobody else would ever notice either.
 */
export function endConnection(socket: Socket, lastBytes?: string): void {
  if (lastBytes === undefined) socket.end();
  else socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Whether a connection has had its last response: what was sent behind it must not be served (RFC 9112 section 9.6).
 */
export function isClosing(socket: Socket): boolean {
  return closing.has(socket);
}

/**
 * Ends a connection behind its response, although the head may be out and does not say so (RFC 9112 section 9.6).
 */
export function endBehindResponse(message: IncomingMessage, response: ServerResponse): void {
  makeResponseLast(message);
  if (response.headersSent) response.once('finish', () => message.socket.destroySoon());
}

/**
 * Makes the response to this request the last one of its connection; the response carries `Connection:
 * close`. Node would cut the connection as soon as the response is written. Instead our side ends, and the
 * other when the rest of the body has come.
 */
export function makeResponseLast(message: IncomingMessage): void {
  const { socket } = message;
  if (closing.has(socket)) return;
  closing.add(socket);
  if (message.complete) return;
  const cut = socket.destroySoon.bind(socket);
  // Assigned by its name: written there it would be an old object from the beginning,
  // and keep the request (decision 0026).
  const endOwnSide = (): void => {
    if (message.complete) {
      cut();
      return;
    }
    message.once('end', cut);
    socket.end();
  };
  socket.destroySoon = endOwnSide;
  discardRest(message);
}
