/** The head of an answer as the client gets it: the backend's fields made fit for the public, and ours. */
import { fieldValue } from '../http1/fields.js';
import type { Endpoint } from './endpoint.js';
import type { ForwardRequest } from './forward-request.js';
import { appendBackendResponseHeaders } from './response-headers.js';
import { passableNames, takesTrailers } from './trailers.js';

/**
 * Fields, flat: name, value, name, value.
 * @param fields of the backend, likewise.
 * @param endpoint that answered.
 * @param isStream whether a body of unknown length follows.
 */
export function answerHead(
  request: ForwardRequest,
  fields: readonly string[],
  endpoint: Endpoint | undefined,
  isStream: boolean,
): string[] {
  const { message, ownCors, answerHeaders } = request;
  const head: string[] = [];
  const references = endpoint?.references(request.basePath);
  const hasCacheControl = appendBackendResponseHeaders(head, fields, { ownCors, references });
  // RFC 9111 section 3.5 forbids shared caches to keep answers to requests with a key unless they are told that they may. Not all obey.
  if (!hasCacheControl && (message.method === 'GET' || message.method === 'HEAD')) {
    head.push('Cache-Control', 'private');
  }
  if (isStream && takesTrailers(message)) {
    const names = passableNames(fieldValue(fields, 'trailer') ?? '');
    if (names !== '') head.push('Trailer', names);
  }
  for (const item of answerHeaders) head.push(item);
  return head;
}
