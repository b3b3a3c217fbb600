/** Sends interim responses, such as 103 Early Hints (RFC 9110 section 15.2), from backends to clients. */
import { fieldsOfLines, fieldValue } from '../../http/grammar/fields.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Maximum number of interim responses per request. Further ones are dropped. */
export const MAX_INTERIM_RESPONSES = 8;

const CONTINUE = 100;

/**
 * Writes a backend's interim response to the client, with `Link` as its only field (RFC 8297 section 2). Skips HTTP/1.0
 * clients, which don't support 1xx, and `100 Continue`, which the gateway sends itself. Also skips responses after the
 * final response has begun.
 * @param lines field lines of the interim response, each with its CRLF.
 */
export function passInterimResponse(request: ForwardRequest, status: number, lines: string): void {
  const { response } = request.client;
  if (request.message.httpVersion === '1.0' || status === CONTINUE || response.hasBegun || response.isGone) return;
  const link = fieldValue(fieldsOfLines(lines), 'link');
  try {
    response.nodeResponse.writeInformation(status, link === undefined ? {} : { link });
  } catch {
    // Node rejected the value of `Link`. Only a hint is lost.
  }
}
