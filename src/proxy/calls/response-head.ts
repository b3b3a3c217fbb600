/** Builds the head of a response for the client from the backend's fields and the gateway's own. */
import { fieldsOfLines, fieldValue } from '../../http/grammar/fields.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { passedFields } from '../fields/response-headers.js';
import { passableNames, takesTrailers } from '../fields/trailers.js';

/**
 * Returns the field lines for the client, each with its CRLF.
 * @param lines field lines of the backend, each with its CRLF.
 * @param endpoint the address that responded; undefined leaves references to the target unchanged.
 * @param isUnsized whether a body of unknown length follows, which can have trailers.
 */
export function responseHead(
  request: ForwardRequest,
  lines: string,
  endpoint: Endpoint | undefined,
  isUnsized: boolean,
): string {
  const { message, ownCors, client } = request;
  const passed = passedFields(lines, { ownCors, references: endpoint?.references(request.basePath) });
  let head = passed.lines;
  // RFC 9111 section 3.5 forbids shared caches to store responses to requests with `Authorization`, unless a directive
  // allows it. Not all caches comply.
  if (!passed.hasCacheControl && (message.method === 'GET' || message.method === 'HEAD')) {
    head += 'Cache-Control: private\r\n';
  }
  if (!passed.hasDate) head += client.dateLine;
  if (isUnsized && takesTrailers(message)) {
    const names = passableNames(fieldValue(fieldsOfLines(lines), 'trailer') ?? '');
    if (names !== '') head += `Trailer: ${names}\r\n`;
  }
  return head + client.responseLines;
}
