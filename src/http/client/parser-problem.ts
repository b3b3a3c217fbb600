/**
 * Maps errors of Node's HTTP parser to problem codes, and formats the response that is written directly to the socket.
 * A parser error can occur before there is a request, or within a request body.
 */
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { ERRORS, Problem, PROBLEM_CONTENT_TYPE } from '../../platform/problems/errors.js';
import { problemBody } from '../../platform/problems/problem-body.js';
import { hasUnknownMethod, type ParserError } from './unknown-method.js';

/** Node's error code for a head that is too large. */
export const HEAD_TOO_LARGE = 'HPE_HEADER_OVERFLOW';

export type ParserProblemCode =
  | 'bad_request'
  | 'request_timeout'
  | 'headers_too_large'
  | 'content_too_large'
  | 'not_implemented';

/** Reason phrases by status (RFC 9110 section 15). Node uses an older phrase for 413. */
const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
  501: 'Not Implemented',
};

/** Returns the problem code for a request that Node could not parse. */
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

export interface ParserProblem {
  readonly code: ParserProblemCode;
  /** Explanation for the client. Undefined to omit it from the body. */
  readonly detail?: string | undefined;
  readonly requestId: string;
  /** `Date` field line with its CRLF. */
  readonly dateLine: string;
  /** Further field lines, each with its CRLF. They must include `X-Request-Id`. */
  readonly lines: string;
}

/** Returns the complete HTTP/1.1 response to a request that could not be parsed, with `Connection: close`. */
export function parserProblemText(content: ParserProblem, pages: ErrorPages): string {
  const { code, detail, requestId, dateLine, lines } = content;
  const { status } = ERRORS[code];
  const problem = new Problem(code, detail === undefined ? {} : { detail });
  const body = JSON.stringify(problemBody(problem, requestId, pages));
  return (
    `HTTP/1.1 ${status} ${STATUS_TEXT[status]}\r\nContent-Type: ${PROBLEM_CONTENT_TYPE}\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${dateLine}Cache-Control: no-store\r\n${lines}` +
    `Connection: close\r\n\r\n${body}`
  );
}
