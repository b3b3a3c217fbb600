/**
 * Responses before the response: 103 Early Hints and its like are passed on (RFC 9110 section 15.2), not without end.
 */
import { fieldsOfLines, fieldValue } from '../../http/grammar/fields.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Of one request; more are dropped. */
export const MOST_INTERIM_RESPONSES = 8;

const CONTINUE = 100;

/**
 * Writes an interim response of a backend to the client, with its `Link` alone: a hint sets nothing (RFC 8297
 * section 2). HTTP/1.0 knows none, `100 Continue` is ours to say, and what cannot be written is dropped.
 * @param lines its fields, each with its CRLF.
 */
export function passInterimResponse(request: ForwardRequest, status: number, lines: string): void {
  const { response } = request.client;
  if (request.message.httpVersion === '1.0' || status === CONTINUE || response.hasBegun || response.isGone) return;
  const link = fieldValue(fieldsOfLines(lines), 'link');
  try {
    response.nodeResponse.writeInformation(status, link === undefined ? {} : { link });
  } catch {
    // A value that Node does not write: only a hint is lost.
  }
}
