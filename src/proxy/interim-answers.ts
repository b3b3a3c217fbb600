/** Answers before the answer: 103 Early Hints and its like are passed on (RFC 9110 section 15.2), but not without end. */
import type { IncomingHttpHeaders } from 'node:http';
import type { ForwardRequest } from './forward-request.js';

/** Of one request; more are dropped. */
export const MOST_INTERIM_ANSWERS = 8;

/**
 * Writes an interim answer of a backend to the client, with its `Link` alone: a hint sets nothing (RFC 8297 section 2). HTTP/1.0 knows
 * none, and what cannot be written is dropped.
 */
export function passInterimAnswer(request: ForwardRequest, status: number, headers: IncomingHttpHeaders): void {
  const { message, response } = request;
  if (message.httpVersion === '1.0' || status === 101 || response.headersSent || response.destroyed) return;
  const { link } = headers;
  try {
    response.writeInformation(status, link === undefined ? {} : { link: [link].flat().join(', ') });
  } catch {
    // A value that Node does not write: only a hint is lost.
  }
}
