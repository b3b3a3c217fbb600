/**
 * What Node's parser lets through although RFC 9112 says that it must be refused, or that two readers may take
 * differently: decided before anything of the request is believed. Refuses with 400, 431 and 501.
 */
import { Problem } from '../../platform/problems/errors.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { PlainRequest } from '../../http/client/plain-request.js';
import { isHost } from './host.js';

/** More than clients send, and far below the thousand that Node takes. */
const MOST_FIELDS = 200;
/** A transfer coding in a list: a token, and its parameters. */
const CODING = /^[ \t]*([!#$%&'*+.^_`|~0-9a-z-]+)[ \t]*(;.*)?$/;
const ABSOLUTE_FORM = /^https?:\/\/([^/?#]*)(.*)$/i;

/** Whether a request came over HTTP/2; Node's parser of HTTP/1 takes `HTTP/2.0` in a request line for granted. */
export function isHttp2(message: ClientMessage): boolean {
  return message.httpVersionMajor === 2 && 'stream' in message;
}

/**
 * What is wrong with how the request is framed, or undefined. The connection must
 * not be used again after such a problem.
 */
export function framingProblem(message: ClientMessage): Problem | undefined {
  // Read by hand: to the letter, and without what is refused below.
  if (message instanceof PlainRequest) return hostProblem(message.headers.host === undefined ? 0 : 1, message);
  const { httpVersion, headers, rawHeaders } = message;
  if (httpVersion !== '1.1' && httpVersion !== '1.0' && !isHttp2(message)) {
    return refused('This server speaks HTTP/1.1, and HTTP/2 over TLS.');
  }
  if (rawHeaders.length > 2 * MOST_FIELDS) {
    return new Problem('headers_too_large', { detail: `A request may have ${MOST_FIELDS} headers.` });
  }
  const problem = hostProblem(countHosts(rawHeaders), message);
  if (problem !== undefined) return problem;
  const coding = headers['transfer-encoding'];
  if (coding === undefined) return undefined;
  // RFC 9112 section 6.1: HTTP/1.0 knows no Transfer-Encoding; someone on the way
  // may have taken the body for a request.
  if (httpVersion === '1.0') return refused('HTTP/1.0 has no Transfer-Encoding.');
  return codingProblem(coding.toLowerCase());
}

/**
 * RFC 9112 section 6.1: `chunked`, once and at the end. Another coding would be lost when the
 * message is framed anew for the backend.
 */
function codingProblem(coding: string): Problem | undefined {
  if (coding === 'chunked') return undefined;
  const isFaulty = coding.split(',').some((each, at, { length }) => {
    const [, name, parameters] = CODING.exec(each) ?? [];
    return name === undefined || (name === 'chunked' && (parameters !== undefined || at < length - 1));
  });
  if (isFaulty) return refused('The transfer coding "chunked" stands once, as the last one.');
  return new Problem('not_implemented', { detail: 'The only transfer coding that is understood is "chunked".' });
}

/** RFC 9112 section 3.2; HTTP/1.0 may go without. */
function hostProblem(hosts: number, { headers, httpVersion }: ClientMessage): Problem | undefined {
  if (hosts !== 1 && (hosts > 1 || httpVersion !== '1.0')) return refused('Send exactly one Host header.');
  if (hosts === 1 && !isHost(headers.host ?? '')) return refused('The Host header is not valid.');
  return undefined;
}

/**
 * Path and query of the request target. The absolute form (RFC 9112 section 3.2.2) stands for the same request with
 * another `Host`, which is put in the place of the one that was sent. Every other form is returned as it is.
 */
export function originForm(message: ClientMessage): string {
  const target = message.url ?? '';
  if (target.startsWith('/')) return target;
  const [, authority = '', rest = ''] = ABSOLUTE_FORM.exec(target) ?? [];
  if (!isHost(authority)) return target;
  message.headers.host = authority;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

function refused(detail: string): Problem {
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
