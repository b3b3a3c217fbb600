/**
 * Discards the rest of a request body after an early response. A client that is still sending receives the response
 * only if its data is read. Closing a connection with unread data sends a TCP reset, which can overtake the response.
 */
import type { IncomingMessage } from 'node:http';

/** Limits for the rest of the body. The gateway closes the connection if the body exceeds one of them. */
const LONGEST_DISCARD_MS = 2_000;
const MAX_DISCARDED_BYTES = 64 * 1024 * 1024;

/** Messages whose body is being discarded. */
const discarding = new WeakSet<IncomingMessage>();

/** Reads and discards the rest of the body. The connection survives if the body ends within the limits. */
export function discardRest(message: IncomingMessage): void {
  const { socket } = message;
  if (message.complete || socket.destroyed || discarding.has(message)) return;
  discarding.add(message);
  const closeConnection = (): void => void socket.destroy();
  const timer = setTimeout(closeConnection, LONGEST_DISCARD_MS).unref();
  const stopTimer = (): void => clearTimeout(timer);
  // Don't listen for the socket's `close`. A keep-alive connection would collect one listener per body.
  message.once('end', stopTimer);
  message.on('error', stopTimer);
  let discarded = 0;
  message.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MAX_DISCARDED_BYTES) closeConnection();
  });
  message.resume();
}
