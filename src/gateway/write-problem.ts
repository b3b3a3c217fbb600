/** How a problem leaves the gateway: RFC 9457 on the raw connection, the same from every step. */
import type { IncomingMessage } from 'node:http';
import { problemBody, PROBLEM_CONTENT_TYPE, type Problem } from '../errors.js';
import type { Exchange } from './exchange.js';

/** How much of a refused body is read and thrown away before the connection is cut, and for how long. */
const MOST_DISCARDED_BYTES = 1024 * 1024;
const LONGEST_DISCARD_MS = 2_000;

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
  // A body that nobody will read would be taken for the next request on this connection.
  if (unread) head.push('Connection', 'close');
  response.writeHead(problem.status, head);
  if (message.method === 'HEAD') response.end();
  else response.end(body);
  if (unread) discardRest(message);
}

function hasUnreadBody(message: IncomingMessage): boolean {
  const { headers } = message;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Reads on for a moment so that the client sees the answer: a connection that is closed on unread data is reset, and the
 * reset can overtake the answer. Bounded, because the client may never stop.
 */
function discardRest(message: IncomingMessage): void {
  const { socket } = message;
  let discarded = 0;
  const cut = (): void => void socket.destroy();
  const timer = setTimeout(cut, LONGEST_DISCARD_MS);
  timer.unref();
  socket.once('close', () => clearTimeout(timer));
  message.on('error', cut);
  message.on('data', (chunk: Buffer) => {
    discarded += chunk.length;
    if (discarded > MOST_DISCARDED_BYTES) cut();
  });
  message.resume();
}
