/**
 * What Node's parser refuses, before there is a request or in the middle of its body: the same
 * shape, written to the socket by hand.
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
import { responseUnderWay, type NodeResponse } from '../../platform/node-internals.js';

const DETAILS: Readonly<Record<ParserProblemCode, string>> = {
  bad_request: 'The request is not valid HTTP.',
  request_timeout: 'The request did not arrive in time.',
  headers_too_large: 'The request line and headers are larger than 16 KiB, or there are too many headers.',
  content_too_large: 'The chunk extensions of the request body are too large.',
  not_implemented: UNKNOWN_METHOD_DETAIL,
};

const ORIGIN = /\r\nOrigin:[ \t]*([^\s,]+)[ \t]*\r\n/i;

const failed = new WeakSet<Socket>();

/** What responses carry that no exchange stands behind. */
export interface ResponseFields {
  /** A page can send too many headers, and should be able to read that it did. */
  readonly cors: Cors;
  /** Fields of a response over TLS, each with its CRLF. */
  readonly secureLines: string;
  readonly date: HttpDate;
  readonly pages: ErrorPages;
}

/**
 * Responds to a connection whose request could not be parsed, and closes it. Good requests that were sent before it
 * have their responses first (RFC 9112 section 9.3.2).
 */
export function respondToParserError(error: ParserError, socket: Socket, fields: ResponseFields): void {
  // A client that had closed its side, and has gone: it has sent nothing wrong.
  if (error.code === 'EPIPE') {
    socket.destroy();
    return;
  }
  // The parser fails again with every byte that comes after.
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
 * Of a head that is too large, as far as it stands in what was read last; a browser causes no other of these errors.
 */
function originOf({ code, rawPacket }: ParserError): string | undefined {
  if (code !== HEAD_TOO_LARGE || !Buffer.isBuffer(rawPacket)) return undefined;
  return ORIGIN.exec(rawPacket.toString('latin1'))?.[1];
}

/** @param more field lines, each with its end. */
function respondInTurn(code: ParserProblemCode, socket: Socket, more: string, fields: ResponseFields): void {
  // Node's own default looks there as well.
  const response = responseUnderWay(socket) as (ExchangeResponse & NodeResponse) | null;
  if (response?.req.complete === true) {
    // Its close is told when the next response in the line has its turn.
    response.once('close', () => respondInTurn(code, socket, more, fields));
    return;
  }
  // Half a response to the broken request itself is on the connection: bytes of ours would end up inside it.
  if (!socket.writable || response?.headersSent === true) {
    socket.destroy();
    return;
  }
  // A request whose body is broken has its name, and a known key is told what is left.
  const exchange = response?.exchange;
  if (exchange !== undefined) exchange.problemCode = code;
  const id = exchange?.requestId ?? requestId(undefined);
  const lines = exchange?.problemLines ?? `X-Request-Id: ${id}\r\n${more}`;
  const detail = DETAILS[code];
  const { date, pages } = fields;
  endConnection(socket, parserProblemText({ code, detail, requestId: id, dateLine: date.line, lines }, pages));
}
