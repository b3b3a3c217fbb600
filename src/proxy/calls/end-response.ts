/** The two ends of a response whose head is out: whole, and cut short. */
import type { ServerResponse } from 'node:http';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Ends a response with the rest of its body. */
export function endResponse(response: ServerResponse, body: Buffer | undefined): void {
  // As a Latin-1 string, byte for byte, the body joins the head in one buffer; as a Buffer the two would leave by
  // writev.
  if (body === undefined || body.length === 0) response.end();
  else response.end(body.toString('latin1'), 'latin1');
}

/**
 * Cuts a response off so that it cannot look whole: one to HTTP/1.0 ends with its connection, and only a reset tells.
 */
export function cutResponse({ message, client }: ForwardRequest): void {
  const { socket } = message;
  if (message.httpVersion === '1.0' && !('encrypted' in socket)) socket.resetAndDestroy();
  client.response.destroy();
}
