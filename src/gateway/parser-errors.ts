/** What Node's parser refuses before there is a request: the same shape, written to the socket by hand. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, Problem, problemBody, PROBLEM_CONTENT_TYPE, type ErrorCode } from '../errors.js';
import { METRICS } from '../metrics.js';
import { requestId } from './request-ids.js';

const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  413: 'Content Too Large',
  431: 'Request Header Fields Too Large',
};

const DETAILS: Partial<Record<ErrorCode, string>> = {
  bad_request: 'The request is not valid HTTP.',
  request_timeout: 'The request did not arrive in time.',
  headers_too_large: 'The request line and headers are larger than 16 KiB.',
  content_too_large: 'The chunk extensions of the request body are too large.',
};

/** Answers a connection whose request could not be parsed, and closes it. */
export function answerParserError(error: Error & { code?: string }, socket: Socket): void {
  const code = codeOf(error.code);
  METRICS.clientErrors.series(code).inc();
  // A connection that the client reset, or one with half an answer on it, is only closed.
  if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  const id = requestId(undefined);
  const { status } = ERRORS[code];
  const body = JSON.stringify(problemBody(new Problem(code, { detail: DETAILS[code] ?? '' }), id));
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_TEXT[status]}\r\nContent-Type: ${PROBLEM_CONTENT_TYPE}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nX-Request-Id: ${id}\r\nCache-Control: no-store\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}

/** Whether an answer has begun and not ended: bytes of ours would end up inside it. Node's own default looks here as well. */
function isAnswering(socket: Socket & { _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true;
}

function codeOf(
  code: string | undefined,
): 'bad_request' | 'request_timeout' | 'headers_too_large' | 'content_too_large' {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large';
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return 'content_too_large';
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout';
    default:
      return 'bad_request';
  }
}
