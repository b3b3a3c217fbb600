/**
 * Discards the rest of a request body after an early response. A client that is still sending sees the response only if
 * its data is read. Closing a connection with unread data sends a reset, which can overtake the response.
 */
import type { IncomingMessage } from 'node:http';

/** Limits on the rest of the body. Beyond them the connection is cut. */
const LONGEST_DISCARD_MS = 2_000;
const MOST_DISCARDED_BYTES = 64 * 1024 * 1024;

const discarding = new WeakSet<IncomingMessage>();

/** Reads and discards the rest of the body. The connection survives if the body ends within the limits. */
export function discardRest(message: IncomingMessage): void {
  const { socket } = message;
  if (message.complete || socket.destroyed || discarding.has(message)) return;
  discarding.add(message);
  const cut = (): void => void socket.destroy();
  const timer = setTimeout(cut, LONGEST_DISCARD_MS).unref();
  const over = (): void => clearTimeout(timer);
  // Not the socket's `close`: a kept-alive connection would collect one listener per body.
  message.once('end', over);
  message.on('error', over);
  let discarded = 0;
  message.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MOST_DISCARDED_BYTES) cut();
  });
  message.resume();
}
