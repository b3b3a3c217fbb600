/** The last answer of a connection: it reaches a client that is still sending, and nothing that follows it is served. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { discardRest } from '../proxy/discard-body.js';

const closing = new WeakSet<Socket>();

/** Whether a connection has had its last answer: what was sent behind it must not be served (RFC 9112 section 9.6). */
export function isClosing(socket: Socket): boolean {
  return closing.has(socket);
}

/**
 * Makes the answer to this request the last one of its connection; the answer carries `Connection: close`. Node would cut the
 * connection as soon as the answer is written. Instead our side ends, and the other when the rest of the body has come.
 */
export function answerLast(message: IncomingMessage): void {
  const { socket } = message;
  if (closing.has(socket)) return;
  closing.add(socket);
  if (message.complete) return;
  const cut = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    if (message.complete) {
      cut();
      return;
    }
    message.once('end', cut);
    socket.end();
  };
  discardRest(message);
}
