/** Responds to requests that Node's parser rejects. The problem response is written directly to the socket. */
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

/** Fields for responses without an exchange. */
export interface ResponseFields {
  /** Adds CORS fields, so that pages can read the error. */
  readonly cors: Cors;
  /** Field lines for responses over TLS, each with CRLF. */
  readonly secureLines: string;
  readonly date: HttpDate;
  readonly pages: ErrorPages;
}

/**
 * Responds to an unparsable request and closes the connection. Earlier valid requests get their responses first (RFC
 * 9112 section 9.3.2).
 */
export function respondToParserError(error: ParserError, socket: Socket, fields: ResponseFields): void {
  // The client has disconnected. It sent nothing wrong.
  if (error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  // The parser fails again for every further byte.
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
 * Reads `Origin` from a head that was too large, if the last chunk contains the field. Browsers do not cause any of the
 * other errors.
 */
function originOf({ code, rawPacket }: ParserError): string | undefined {
  if (code !== HEAD_TOO_LARGE || !Buffer.isBuffer(rawPacket)) return undefined;
  return ORIGIN.exec(rawPacket.toString('latin1'))?.[1];
}

/**
 * Responds after the responses to earlier requests of the connection.
 * @param extraLines field lines, each with CRLF
 */
function respondInTurn(code: ParserProblemCode, socket: Socket, extraLines: string, fields: ResponseFields): void {
  // Node's default handler uses the same property.
  const response = currentResponse(socket) as (ExchangeResponse & NodeResponse) | null;
  if (response?.req.complete === true) {
    // Wait for the response to an earlier request. Its `close` event fires when the next queued response becomes
    // current.
    response.once('close', () => respondInTurn(code, socket, extraLines, fields));
    return;
  }
  // Part of a response is already sent, and an error response would be inserted into it.
  if (!socket.writable || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  // The request was parsed except for its body, so its ID and limits are known.
  const exchange = response?.exchange;
  if (exchange !== undefined) exchange.problemCode = code;
  const id = exchange?.requestId ?? requestId(undefined);
  const lines = exchange?.problemLines ?? `X-Request-Id: ${id}\r\n${extraLines}`;
  const detail = DETAILS[code];
  const { date, pages } = fields;
  endConnection(socket, parserProblemText({ code, detail, requestId: id, dateLine: date.line, lines }, pages));
}
