/** The head of an answer as the client gets it: the backend's fields made fit for the public, and ours. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Endpoint } from './endpoint.js';
import type { ForwardRequest } from './forward-request.js';
import { publishReferences } from './public-references.js';
import { appendBackendResponseHeaders } from './response-headers.js';
import { passableNames, takesTrailers } from './trailers.js';

/**
 * Fields, flat: name, value, name, value.
 * @param headers as undici parsed them; changed in place.
 * @param endpoint that answered.
 * @param isStream whether a body of unknown length follows.
 */
export function answerHead(
  request: ForwardRequest,
  headers: IncomingHttpHeaders,
  endpoint: Endpoint | undefined,
  isStream: boolean,
): (string | string[])[] {
  const { message, ownCors, answerHeaders, basePath } = request;
  if (endpoint !== undefined && hasReferences(headers)) {
    publishReferences(headers, { origin: endpoint.origin, prefix: endpoint.prefix, basePath });
  }
  const head: (string | string[])[] = [];
  appendBackendResponseHeaders(head, headers, ownCors);
  // RFC 9111 section 3.5 forbids shared caches to keep answers to requests with a key unless they are told that they may. Not all obey.
  if (headers['cache-control'] === undefined && (message.method === 'GET' || message.method === 'HEAD')) {
    head.push('Cache-Control', 'private');
  }
  if (isStream && headers.trailer !== undefined && takesTrailers(message)) {
    const names = passableNames(headers.trailer);
    if (names !== '') head.push('Trailer', names);
  }
  head.push(...answerHeaders);
  return head;
}

function hasReferences(headers: IncomingHttpHeaders): boolean {
  return headers.location !== undefined || headers['link'] !== undefined || headers['content-location'] !== undefined;
}
