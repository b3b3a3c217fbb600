/** Answers before the answer: 103 Early Hints and its like are passed on (RFC 9110 section 15.2), but not without end. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ForwardRequest } from './forward-request.js';
import { appendBackendResponseHeaders } from './response-headers.js';

/** Of one request; more are dropped. */
export const MOST_INTERIM_ANSWERS = 8;

/** Writes an interim answer of a backend to the client; HTTP/1.0 knows none, and what cannot be written is dropped. */
export function passInterimAnswer(request: ForwardRequest, status: number, headers: IncomingHttpHeaders): void {
  const { message, response, ownCors } = request;
  if (message.httpVersion === '1.0' || status === 101 || response.headersSent || response.destroyed) return;
  const flat: (string | string[])[] = [];
  appendBackendResponseHeaders(flat, headers, ownCors);
  const fields: Record<string, string> = {};
  for (let index = 0; index < flat.length; index += 2) {
    const name = String(flat[index]);
    const value = String(flat[index + 1]);
    // Node takes one value of each; in all fields that hints have, a list means the same.
    fields[name] = fields[name] === undefined ? value : `${fields[name]}, ${value}`;
  }
  try {
    response.writeInformation(status, fields);
  } catch {
    // A value that Node does not write: only a hint is lost.
  }
}
