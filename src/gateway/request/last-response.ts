/**
 * Closes a connection after a response. A client that is still sending must receive the response, and no later request
 * of the connection may be served.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { discardRest } from '../../proxy/calls/discard-body.js';

/** Time for the client to close its side after the gateway has closed its own, in ms. */
const CLOSE_TIMEOUT_MS = 2_000;

const closing = new WeakSet<Socket>();

/**
 * Closes a socket that Node has detached from its server, after sending the last bytes. Discards further input, and
 * destroys the socket if the client does not close its side in time.
 */
export function endConnection(socket: Socket, lastBytes?: string): void {
  if (lastBytes === undefined) socket.end();
  else socket.end(lastBytes);
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

/**
 * Reports whether a connection will close after its current response. Later requests on the connection must not be
 * served (RFC 9112 section 9.6).
 */
export function isClosing(socket: Socket): boolean {
  return closing.has(socket);
}

/**
 * Closes the connection after a response, even if the head of the response was sent without `Connection: close` (RFC
 * 9112 section 9.6).
 */
export function closeAfterResponse(message: IncomingMessage, response: ServerResponse): void {
  makeResponseLast(message);
  if (response.headersSent) response.once('finish', () => message.socket.destroySoon());
}

/**
 * Makes the response to a request the last one of its connection. The response must have `Connection: close`. Node
 * would then destroy the socket after the response, even while the client is sending. Instead, the gateway closes only
 * its own side, and destroys the socket when the request body has ended.
 */
export function makeResponseLast(message: IncomingMessage): void {
  const { socket } = message;
  if (closing.has(socket)) return;
  closing.add(socket);
  if (message.complete) return;
  const destroyAfterWrites = socket.destroySoon.bind(socket);
  // Use a named constant. V8 would allocate an object literal in the old generation, where it would retain the request
  // (decision 0026).
  const endOwnSide = (): void => {
    if (message.complete) {
      destroyAfterWrites();
      return;
    }
    message.once('end', destroyAfterWrites);
    socket.end();
  };
  socket.destroySoon = endOwnSide;
  discardRest(message);
}
