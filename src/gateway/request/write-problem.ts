/** Writes problem responses (RFC 9457) for all steps and failures, and decides whether the connection stays open. */
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { PROBLEM_CONTENT_TYPE, type Problem } from '../../platform/problems/errors.js';
import type { StoredResponse } from '../../idempotency/record.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';
import { problemBytes } from '../../platform/problems/problem-text.js';
import type { Exchange } from './exchange.js';
import { discardRest } from '../../proxy/calls/discard-body.js';
import { isHttp2 } from './framing.js';
import { isClosing, makeResponseLast } from './last-response.js';

/** Maximum size of an unread request body that is discarded, in bytes. A larger body closes the connection. */
const LARGEST_DISCARDED_BODY_BYTES = 64 * 1024;

/**
 * Responds with a problem. If the head of a response was already sent, closes the connection (HTTP/2: the stream), so
 * that the truncated response does not look complete. For a call from inside the gateway (`exchange.caller`, see
 * `ForwardClient`), passes the problem to that caller instead.
 */
export function writeProblem(exchange: Exchange, problem: Problem, pages: ErrorPages): void {
  const { response, message } = exchange;
  exchange.problemCode = problem.code;
  if (response.hasBegun) {
    response.destroy();
    return;
  }
  if (exchange.caller !== undefined) {
    exchange.caller.receiveProblem(problem);
    return;
  }
  const body = problemBytes(problem, exchange.requestId, pages, exchange.traceId);
  if (message.method !== 'HEAD') exchange.bytesOut = body.length;
  let head = entityLines(body) + exchange.dateLine + exchange.problemLines + linesOf(problem.options.headers ?? []);
  // HTTP/2 has no connection-specific fields.
  const upgrade = isHttp2(message) ? undefined : problem.options.upgrade;
  if (upgrade !== undefined) head += `Upgrade: ${upgrade}\r\n`;
  // There is no unread body, although the parser may not have reported the end of the request yet.
  const mayWriteWhole = (message.complete || !hasUnreadBody(message)) && message.method !== 'HEAD';
  if (mayWriteWhole && response.canWriteWhole) {
    response.writeWhole(problem.status, upgrade === undefined ? head : `${head}Connection: Upgrade\r\n`, body);
    return;
  }
  const isLast = discardBodyOrClose(exchange, problem);
  const { nodeResponse } = exchange;
  // Node recognizes only `close` and `keep-alive`. Any other value of `Connection` would keep the connection open.
  const isKept = !isLast && nodeResponse.shouldKeepAlive;
  if (upgrade !== undefined) head += `Connection: ${isKept ? 'keep-alive' : 'close'}, Upgrade\r\n`;
  else if (isLast) head += 'Connection: close\r\n';
  nodeResponse.writeHead(problem.status, fieldsOfLines(head));
  if (message.method === 'HEAD') nodeResponse.end();
  else nodeResponse.end(body, 'latin1');
}

/** Returns a problem in the form in which it is stored, for replays with the same idempotency key. */
export function problemResponse(problem: Problem, requestId: string, pages: ErrorPages): StoredResponse {
  const body = problemBytes(problem, requestId, pages);
  const lines = entityLines(body) + linesOf(problem.options.headers ?? []);
  return { status: problem.status, code: problem.code, lines, body: Buffer.from(body, 'latin1') };
}

function entityLines(body: string): string {
  return `Content-Type: ${PROBLEM_CONTENT_TYPE}\r\nContent-Length: ${body.length}\r\nCache-Control: no-store\r\n`;
}

/**
 * Starts to discard an unread request body. If the body must not be discarded, makes the response the last one of its
 * connection.
 * @returns whether the connection must close after the response
 */
function discardBodyOrClose(exchange: Exchange, { status }: Problem): boolean {
  const { message } = exchange;
  // An HTTP/2 body has its own stream, so the connection can stay open.
  if (message.complete || !hasUnreadBody(message) || isHttp2(message)) return false;
  // After a timeout, the rest of the body will not arrive soon.
  if (status !== 408 && canDiscardRest(message)) {
    discardRest(exchange.incoming);
    return false;
  }
  makeResponseLast(exchange.incoming);
  return true;
}

/**
 * Reports whether the rest of the request body can be discarded, so that the connection stays open. Returns false if
 * the client waits for `100 Continue`. Such a client may omit the body, and the gateway would then read its next
 * request as the body (RFC 9110 section 10.1.1).
 */
function canDiscardRest(message: ClientMessage): boolean {
  const { headers, socket } = message;
  const length = headers['content-length'];
  return (
    length !== undefined &&
    Number(length) <= LARGEST_DISCARDED_BODY_BYTES &&
    headers.expect === undefined &&
    !isClosing(socket)
  );
}

function hasUnreadBody(message: ClientMessage): boolean {
  const { headers } = message;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
