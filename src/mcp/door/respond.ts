/** How the door writes its responses: JSON, in one piece where the connection takes it so. */
import type { DoorRequest } from '../../admission/doors/door-request.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';

/** Responds with JSON. Does nothing for a client that has gone. */
export function respondJson(request: DoorRequest, status: number, text: string): void {
  respond(request, status, 'Content-Type: application/json\r\n', bytesOf(text));
}

/** Responds to a notification that was taken. */
export function respondAccepted(request: DoorRequest): void {
  respond(request, 202, '', '');
}

/** @param body in UTF-8, each byte as a character (Latin-1). */
function respond(request: DoorRequest, status: number, lines: string, body: string): void {
  const { response, message } = request;
  if (response.isGone || response.hasBegun) return;
  request.bytesOut = body.length;
  const head =
    `${lines}Content-Length: ${body.length}\r\nCache-Control: no-store\r\n` +
    `${request.dateLine}${request.responseLines}`;
  if (message.complete && response.takesWhole) {
    response.writeWhole(status, head, body);
    return;
  }
  request.nodeResponse.writeHead(status, fieldsOfLines(head)).end(body, 'latin1');
}

function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}
