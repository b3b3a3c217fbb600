/**
 * Checks the framing of requests, as a defense against request smuggling. Some checks are required by RFC 9112 and
 * missing in Node's parser. They run before the gateway trusts any part of the request. Failures are 400, 431 and 501.
 */
import { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { PlainRequest } from '../../http/client/plain-request.js';
import { isHost } from '../../http/grammar/host.js';

/** Maximum number of header fields. Clients send fewer, and Node allows a thousand. */
const MAX_FIELDS = 200;
/** Matches a transfer coding: a lower-case token and its parameters. */
const CODING = /^[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*(;.*)?$/;
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i;

/**
 * Reports whether a request arrived over HTTP/2. The version alone is not enough, because Node's HTTP/1 parser accepts
 * `HTTP/2.0`.
 */
export function isHttp2(message: ClientMessage): boolean {
  return message.httpVersionMajor === 2 && 'stream' in message;
}

/**
 * Returns the framing error of a request, or undefined. After an error, an HTTP/1.1 connection must not serve another
 * request.
 */
export function framingProblem(message: ClientMessage): Problem | undefined {
  // The plain parser has already excluded the errors below, except for a missing or invalid `Host`.
  if (message instanceof PlainRequest) return hostProblem(message.headers.host === undefined ? 0 : 1, message);
  const { httpVersion, headers, rawHeaders } = message;
  if (httpVersion !== '1.1' && httpVersion !== '1.0' && !isHttp2(message)) {
    return badRequest('This server supports HTTP/1.1, and HTTP/2 over TLS.');
  }
  if (rawHeaders.length > 2 * MAX_FIELDS) {
    return new Problem('headers_too_large', { detail: `A request can have at most ${MAX_FIELDS} headers.` });
  }
  const problem = hostProblem(countHosts(rawHeaders), message);
  if (problem !== undefined) return problem;
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  // RFC 9112 section 6.1: HTTP/1.0 has no Transfer-Encoding. An HTTP/1.0 proxy may have read the body as another
  // request.
  if (httpVersion === '1.0') return badRequest('HTTP/1.0 does not support Transfer-Encoding.');
  return codingProblem(coding.toLowerCase());
}

/**
 * Returns the error in a lower-case `Transfer-Encoding` value. Returns undefined if the value is exactly `chunked` (RFC
 * 9112 section 6.1). A malformed value or a misplaced `chunked` is a 400. Any other coding is a 501, because it would
 * be lost when the gateway frames the message again for the backend.
 */
function codingProblem(coding: string): Problem | undefined {
  if (coding === 'chunked') return undefined;
  const isFaulty = coding.split(',').some((each, at, { length }) => {
    const [, name, parameters] = CODING.exec(each) ?? [];
    return name === undefined || (name === 'chunked' && (parameters !== undefined || at < length - 1));
  });
  if (isFaulty) return badRequest('The transfer coding "chunked" must appear exactly once, as the last one.');
  return new Problem('not_implemented', { detail: 'The only supported transfer coding is "chunked".' });
}

/**
 * Returns the error in `Host`, or undefined (RFC 9112 section 3.2). Only HTTP/1.0 requests may omit the field.
 * @param hosts number of `Host` fields
 */
function hostProblem(hosts: number, { headers, httpVersion }: ClientMessage): Problem | undefined {
  if (hosts !== 1 && (hosts > 1 || httpVersion !== '1.0')) return badRequest('Send exactly one Host header.');
  if (hosts === 1 && !isHost(headers.host ?? '')) return badRequest('The Host header is not valid.');
  return undefined;
}

/**
 * Returns the path and query of the request target. If the target is absolute (RFC 9112 section 3.2.2), also replaces
 * `Host` with the authority of the target. Returns targets in other forms unchanged.
 */
export function originForm(message: ClientMessage): string {
  const target = message.url ?? '';
  if (target.startsWith('/')) return target;
  const [, authority = '', rest = ''] = ABSOLUTE_FORM.exec(target) ?? [];
  if (!isHost(authority)) return target;
  message.headers.host = authority;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function badRequest(detail: string): Problem {
  return new Problem('bad_request', { detail });
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}
