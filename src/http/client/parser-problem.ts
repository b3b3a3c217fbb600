/**
 * What Node's parser refuses, before there is a request or in the middle of its body: which code that is, and the
 * response in the one shape, which is written to the socket by hand.
 */
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { ERRORS, Problem, PROBLEM_CONTENT_TYPE } from '../../platform/problems/errors.js';
import { problemBody } from '../../platform/problems/problem-body.js';
import { hasUnknownMethod, type ParserError } from './unknown-method.js';

/** Node's own code for a head that is too large. */
export const HEAD_TOO_LARGE = 'HPE_HEADER_OVERFLOW';

/** The codes that come of it. */
export type ParserProblemCode =
  | 'bad_request'
  | 'request_timeout'
  | 'headers_too_large'
  | 'content_too_large'
  | 'not_implemented';

/** The words of RFC 9110 section 15; Node has an older one for 413. */
const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
  501: 'Not Implemented',
};

/** The code of a request that could not be parsed. */
export function parserProblemCode(error: ParserError): ParserProblemCode {
  if (hasUnknownMethod(error)) return 'not_implemented';
  switch (error.code) {
    case HEAD_TOO_LARGE:
      return 'headers_too_large';
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 'content_too_large';
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout';
    default:
      return 'bad_request';
  }
}

/** What the response to such a request says. */
export interface ParserProblem {
  readonly code: ParserProblemCode;
  /** Left out of the body where there is none. */
  readonly detail?: string | undefined;
  readonly requestId: string;
  /** The field `Date`, with its CRLF. */
  readonly dateLine: string;
  /** More fields, each with its CRLF; the request's id among them. */
  readonly lines: string;
}

/** The whole response to such a request, the last one of its connection. */
export function parserProblemText(said: ParserProblem, pages: ErrorPages): string {
  const { code, detail, requestId, dateLine, lines } = said;
  const { status } = ERRORS[code];
  const problem = new Problem(code, detail === undefined ? {} : { detail });
  const body = JSON.stringify(problemBody(problem, requestId, pages));
  return (
    `HTTP/1.1 ${status} ${STATUS_TEXT[status]}\r\nContent-Type: ${PROBLEM_CONTENT_TYPE}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${dateLine}Cache-Control: no-store\r\n${lines}` +
    `Connection: close\r\n\r\n${body}`
  );
}
