/** How a problem leaves the gateway: RFC 9457 on the raw connection, the same from every step. */
import type { ErrorPages } from '../../platform/problems/error-pages.js';
import { PROBLEM_CONTENT_TYPE, type Problem } from '../../platform/problems/errors.js';
import type { KeptResponse } from '../../idempotency/record.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines, linesOf } from '../../http/grammar/fields.js';
import { problemBytes } from '../../platform/problems/problem-text.js';
import type { Exchange } from './exchange.js';
import { discardRest } from '../../proxy/calls/discard-body.js';
import { isHttp2 } from './framing.js';
import { isClosing, makeResponseLast } from './last-response.js';

/** A refused body up to this length is read to its end instead of closing the connection. */
const LARGEST_DISCARDED_BODY_BYTES = 64 * 1024;

/**
 * Responds with a problem. When the head is already out, the connection is cut: a broken response must not look whole.
 */
export function writeProblem(exchange: Exchange, problem: Problem, pages: ErrorPages): void {
  const { response, message } = exchange;
  exchange.problemCode = problem.code;
  if (response.hasBegun) {
    response.destroy();
    return;
  }
  if (response.writeProblem !== undefined) {
    response.writeProblem(problem);
    return;
  }
  const body = problemBytes(problem, exchange.requestId, pages);
  if (message.method !== 'HEAD') exchange.bytesOut = body.length;
  let head = entityLines(body) + exchange.dateLine + exchange.problemLines + linesOf(problem.options.headers ?? []);
  // HTTP/2 has no fields that speak to a connection.
  const upgrade = isHttp2(message) ? undefined : problem.options.upgrade;
  if (upgrade !== undefined) head += `Upgrade: ${upgrade}\r\n`;
  // Nothing is left to be read, although the parser may not have said so yet.
  const isBare = (message.complete || !hasUnreadBody(message)) && message.method !== 'HEAD';
  if (isBare && response.takesWhole) {
    response.writeWhole(problem.status, upgrade === undefined ? head : `${head}Connection: Upgrade\r\n`, body);
    return;
  }
  const isLast = endsConnection(exchange, problem);
  const { nodeResponse } = exchange;
  // A Connection that is none of its own means to Node that the connection goes on.
  const isKept = !isLast && nodeResponse.shouldKeepAlive;
  if (upgrade !== undefined) head += `Connection: ${isKept ? 'keep-alive' : 'close'}, Upgrade\r\n`;
  else if (isLast) head += 'Connection: close\r\n';
  nodeResponse.writeHead(problem.status, fieldsOfLines(head));
  if (message.method === 'HEAD') nodeResponse.end();
  else nodeResponse.end(body, 'latin1');
}

/** What of the response to a request is the same each time it is told a problem. */
export function problemResponse(problem: Problem, requestId: string, pages: ErrorPages): KeptResponse {
  const body = problemBytes(problem, requestId, pages);
  const lines = entityLines(body) + linesOf(problem.options.headers ?? []);
  return { status: problem.status, code: problem.code, lines, body: Buffer.from(body, 'latin1') };
}

function entityLines(body: string): string {
  return `Content-Type: ${PROBLEM_CONTENT_TYPE}\r\nContent-Length: ${body.length}\r\nCache-Control: no-store\r\n`;
}

/** Sees to a body that has not been read; whether the connection ends with the response because of it. */
function endsConnection(exchange: Exchange, { status }: Problem): boolean {
  const { message } = exchange;
  // In HTTP/2 a body has a stream of its own.
  if (message.complete || !hasUnreadBody(message) || isHttp2(message)) return false;
  // What has not come in time will not come now.
  if (status !== 408 && isSmall(message)) {
    discardRest(exchange.incoming);
    return false;
  }
  makeResponseLast(exchange.incoming);
  return true;
}

/**
 * Whether the rest of the body can be read and thrown away, so that the connection goes on. Not where the client waits
 * for a 100: it need not send the body then, and what it sends next would be taken for it (RFC 9110 section 10.1.1).
 */
function isSmall(message: ClientMessage): boolean {
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
