/** Passes on interim responses such as 103 Early Hints (RFC 9110 section 15.2), up to a limit. */
import { fieldsOfLines, fieldValue } from '../../http/grammar/fields.js';
import type { ForwardRequest } from '../targets/forward-request.js';

/** Maximum per request. Further ones are dropped. */
export const MOST_INTERIM_RESPONSES = 8;

const CONTINUE = 100;

/**
 * Writes a backend's interim response to the client, with `Link` as its only field (RFC 8297 section 2). Skips HTTP/1.0
 * clients, which know no 1xx, and `100 Continue`, which the gateway sends itself.
 * @param lines its field lines, each with its CRLF.
 */
export function passInterimResponse(request: ForwardRequest, status: number, lines: string): void {
  const { response } = request.client;
  if (request.message.httpVersion === '1.0' || status === CONTINUE || response.hasBegun || response.isGone) return;
  const link = fieldValue(fieldsOfLines(lines), 'link');
  try {
    response.nodeResponse.writeInformation(status, link === undefined ? {} : { link });
  } catch {
    // Node rejects the value. Only a hint is lost.
  }
}
