/**
 * The rest of a request body that nobody wants any more. It is read on for a moment: a client that is still sending
 * sees the response only when its data is taken, and a connection that is closed on unread data is reset, which can
 * overtake the response.
 */
import type { IncomingMessage } from 'node:http';

/** How long a client may go on with it, and how much it may send, before its connection is cut. */
const LONGEST_DISCARD_MS = 2_000;
const MOST_DISCARDED_BYTES = 64 * 1024 * 1024;

const discarding = new WeakSet<IncomingMessage>();

/** Reads and throws away what is left of the body. The connection survives when the body ends within the bounds. */
export function discardRest(message: IncomingMessage): void {
  const { socket } = message;
  if (message.complete || socket.destroyed || discarding.has(message)) return;
  discarding.add(message);
  const cut = (): void => void socket.destroy();
  const timer = setTimeout(cut, LONGEST_DISCARD_MS).unref();
  const over = (): void => clearTimeout(timer);
  // Not the socket's `close`: a connection that goes on would collect a listener for every body.
  message.once('end', over);
  message.on('error', over);
  let discarded = 0;
  message.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MOST_DISCARDED_BYTES) cut();
  });
  message.resume();
}
