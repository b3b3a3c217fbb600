/** The head of a response as the client gets it: the backend's fields made fit for the public, and ours. */
import { fieldsOfLines, fieldValue } from '../../http/grammar/fields.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { passedFields } from '../fields/response-headers.js';
import { passableNames, takesTrailers } from '../fields/trailers.js';

/**
 * Its field lines, each with its CRLF.
 * @param lines of the backend, likewise.
 * @param endpoint that gave it.
 * @param isStream whether a body of unknown length follows.
 */
export function responseHead(
  request: ForwardRequest,
  lines: string,
  endpoint: Endpoint | undefined,
  isStream: boolean,
): string {
  const { message, ownCors, client } = request;
  const passed = passedFields(lines, { ownCors, references: endpoint?.references(request.basePath) });
  let head = passed.lines;
  // RFC 9111 section 3.5 forbids shared caches to keep responses to requests with a key unless they are told that they
  // may. Not all obey.
  if (!passed.hasCacheControl && (message.method === 'GET' || message.method === 'HEAD')) {
    head += 'Cache-Control: private\r\n';
  }
  if (!passed.hasDate) head += client.dateLine;
  if (isStream && takesTrailers(message)) {
    const names = passableNames(fieldValue(fieldsOfLines(lines), 'trailer') ?? '');
    if (names !== '') head += `Trailer: ${names}\r\n`;
  }
  return head + client.responseLines;
}
