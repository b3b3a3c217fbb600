/** How a problem leaves the gateway: RFC 9457 on the raw connection, the same from every step. */
import type { IncomingMessage } from 'node:http';
import { problemBody, PROBLEM_CONTENT_TYPE, type Problem } from '../errors.js';
import type { Exchange } from './exchange.js';
import { answerLast } from './last-answer.js';

/** Answers with a problem. When the head is already out, the connection is cut: a broken answer must not look whole. */
export function writeProblem(exchange: Exchange, problem: Problem): void {
  const { response, message } = exchange;
  exchange.problemCode = problem.code;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = Buffer.from(JSON.stringify(problemBody(problem, exchange.requestId)));
  const head = [
    'Content-Type',
    PROBLEM_CONTENT_TYPE,
    'Content-Length',
    String(body.length),
    'Cache-Control',
    'no-store',
    ...exchange.answerHeaders,
    ...(problem.options.headers ?? []),
  ];
  const unread = !message.complete && hasUnreadBody(message);
  // A body that nobody will read would be taken for the next request on this connection; in HTTP/2 it has a stream of its own.
  if (unread && message.httpVersionMajor === 1) {
    head.push('Connection', 'close');
    answerLast(message);
  }
  response.writeHead(problem.status, head);
  if (message.method === 'HEAD') response.end();
  else response.end(body);
}

function hasUnreadBody(message: IncomingMessage): boolean {
  const { headers } = message;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
