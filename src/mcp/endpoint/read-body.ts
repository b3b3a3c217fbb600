/** Reads the bodies of MCP requests, with limits on size and time. */
import type { EndpointRequest } from '../../admission/mounted/endpoint-request.js';
import { Problem } from '../../platform/problems/errors.js';
import { expectsContinue } from '../../proxy/calls/request-body.js';

/** Maximum size of a message in bytes. The arguments of an assistant are far smaller. */
export const MAX_BODY_BYTES = 1024 * 1024;
/** Time limit for the complete body. */
export const BODY_TIMEOUT_MS = 10_000;

const TOO_LARGE = new Problem('content_too_large', {
  detail: `A message of the Model Context Protocol may have ${MAX_BODY_BYTES} bytes.`,
});
const TOO_SLOW = new Problem('request_timeout', {
  detail: `The body had not arrived after ${BODY_TIMEOUT_MS / 1_000} seconds.`,
});

/**
 * Reads the body of a request. A problem is `content_too_large` or `request_timeout`.
 * @param done called once with the body or a problem, but not if the client disconnects
 */
export function readBody(request: EndpointRequest, done: (body: Buffer | Problem) => void): void {
  const { body: received, headers } = request.message;
  if (received !== undefined) return done(received);
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) return done(TOO_LARGE);
  if (expectsContinue(request.message)) request.nodeResponse.writeContinue();
  const { incoming } = request;
  const pieces: Buffer[] = [];
  let bytes = 0;
  const finish = (body: Buffer | Problem): void => {
    clearTimeout(timer);
    incoming.off('data', onData).off('end', onEnd).off('close', onClose);
    done(body);
  };
  const onData = (piece: Buffer): void => {
    bytes += piece.length;
    pieces.push(piece);
    if (bytes > MAX_BODY_BYTES) finish(TOO_LARGE);
  };
  const onEnd = (): void => finish(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
  const onClose = (): void => clearTimeout(timer);
  const timer = setTimeout(() => finish(TOO_SLOW), BODY_TIMEOUT_MS).unref();
  incoming.on('data', onData).on('end', onEnd).on('close', onClose);
  // Ignore the error. The gateway handles the end of the connection.
  incoming.on('error', () => {});
}
