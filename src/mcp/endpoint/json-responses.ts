/** Writes the responses of the MCP server, except for event streams. */
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';

/** Responds with JSON. Does nothing if the client has disconnected or a response has begun. */
export function respondJson(request: EndpointRequest, status: number, text: string): void {
  respond(request, status, 'Content-Type: application/json\r\n', bytesOf(text));
}

/** Responds with an empty 202 to an accepted notification or reply. */
export function respondAccepted(request: EndpointRequest): void {
  respond(request, 202, '', '');
}

/**
 * Writes a response, unless the client has disconnected or a response has begun.
 * @param body UTF-8 bytes as a Latin-1 string, one character per byte
 */
function respond(request: EndpointRequest, status: number, lines: string, body: string): void {
  const { response, message } = request;
  if (response.isGone || response.hasBegun) return;
  request.bytesOut = body.length;
  const head =
    `${lines}Content-Length: ${body.length}\r\nCache-Control: no-store\r\n` +
    `${request.dateLine}${request.responseLines}`;
  if (message.complete && response.canWriteWhole) {
    response.writeWhole(status, head, body);
    return;
  }
  request.nodeResponse.writeHead(status, fieldsOfLines(head)).end(body, 'latin1');
}

function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}
