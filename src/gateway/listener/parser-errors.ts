/**
 * Responds to requests that no parser could read, to CONNECT, and to head timeouts. Writes the problem response
 * directly to the socket, because these requests have no exchange.
 */
import type { Socket } from 'node:net';
import { linesOf } from '../../http/grammar/fields.js';
import {
  HEAD_TOO_LARGE,
  parserProblemCode,
  parserProblemText,
  type ParserProblemCode,
} from '../../http/client/parser-problem.js';
import type { ParserError } from '../../http/client/unknown-method.js';
import type { HttpDate } from '../../http/client/http-date.js';
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { METRICS } from '../../platform/metrics.js';
import type { Cors } from '../request/cors.js';
import type { ExchangeResponse } from '../request/exchange.js';
import { endConnection } from '../request/last-response.js';
import { UNKNOWN_METHOD_DETAIL } from '../../platform/methods.js';
import { requestId } from '../request/request-ids.js';
import { currentResponse, type NodeResponse } from '../../platform/node-internals.js';

const DETAILS: Readonly<Record<ParserProblemCode, string>> = {
  bad_request: 'The request is not valid HTTP.',
  request_timeout: 'The request did not arrive in time.',
  headers_too_large: 'The request line and headers are larger than 16 KiB, or there are too many headers.',
  content_too_large: 'The chunk extensions of the request body are too large.',
  not_implemented: UNKNOWN_METHOD_DETAIL,
};

const ORIGIN = /\r\nOrigin:[ \t]*([^\s,]+)[ \t]*\r\n/i;

const failed = new WeakSet<Socket>();

/** ResponseFields provides the header fields for responses without an exchange. */
export interface ResponseFields {
  /** Provides the CORS fields, so that pages can read the error. */
  readonly cors: Cors;
  /** Field lines for responses over TLS, such as HSTS. Each line ends with CRLF. */
  readonly secureLines: string;
  readonly date: HttpDate;
  readonly pages: ErrorPages;
}

/**
 * Responds to an unreadable request and closes the connection. Earlier valid requests of the connection get their
 * responses first (RFC 9112 section 9.3.2). Does nothing if the socket has already had an error.
 */
export function respondToParserError(error: ParserError, socket: Socket, fields: ResponseFields): void {
  // The client has disconnected. This is not a client error.
  if (error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  // The parser reports the error again for every further byte.
  if (failed.has(socket)) return;
  failed.add(socket);
  const code = parserProblemCode(error);
  METRICS.clientErrors.series(code).inc();
  if (error.code === 'ECONNRESET') socket.destroy();
  else {
    const lines = linesOf(fields.cors.fieldsOfUnread(() => originOf(error)));
    respondInTurn(code, socket, 'encrypted' in socket ? lines + fields.secureLines : lines, fields);
  }
}

/**
 * Returns the `Origin` of a head that was too large, if the last chunk contains the field. Otherwise returns undefined.
 * Requests of browsers cause no other parser error.
 */
function originOf({ code, rawPacket }: ParserError): string | undefined {
  if (code !== HEAD_TOO_LARGE || !Buffer.isBuffer(rawPacket)) return undefined;
  return ORIGIN.exec(rawPacket.toString('latin1'))?.[1];
}

/**
 * Responds after the responses to earlier requests of the connection have been sent.
 * @param extraLines field lines for a response without an exchange, each with CRLF
 */
function respondInTurn(code: ParserProblemCode, socket: Socket, extraLines: string, fields: ResponseFields): void {
  // Node's default handler also reads the current response of the socket.
  const response = currentResponse(socket) as (ExchangeResponse & NodeResponse) | null;
  if (response?.req.complete === true) {
    // Wait for the response to an earlier request. Its `close` event fires when the next queued response becomes
    // current.
    response.once('close', () => respondInTurn(code, socket, extraLines, fields));
    return;
  }
  // Part of a response has already been sent. An error response would be inserted into it.
  if (!socket.writable || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  // The head of the request was parsed, so its ID and limits are known.
  const exchange = response?.exchange;
  if (exchange !== undefined) exchange.problemCode = code;
  const id = exchange?.requestId ?? requestId(undefined);
  const lines = exchange?.problemLines ?? `X-Request-Id: ${id}\r\n${extraLines}`;
  const detail = DETAILS[code];
  const { date, pages } = fields;
  endConnection(socket, parserProblemText({ code, detail, requestId: id, dateLine: date.line, lines }, pages));
}
