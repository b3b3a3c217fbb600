/**
 * Replays the stored response to a completed request with the same `Idempotency-Key`, if both requests have the same
 * body. A replay is free, does not reach the backend, and emits no event.
 */
import { createHash, hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Replay } from '../../idempotency/key-claim.js';
import type { StoredResponse } from '../../idempotency/record.js';
import { inProgress, MISMATCH } from '../../idempotency/refusals.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { METRICS } from '../../platform/metrics.js';
import { endResponse } from '../../proxy/calls/streamed-response.js';
import type { UploadBounds } from '../../proxy/calls/forwarder.js';
import { expectsContinue, hasBody, peerError, RequestBody } from '../../proxy/calls/request-body.js';
import { failedProblem } from '../../proxy/targets/call-problems.js';
import { upstreamFailure } from '../../proxy/targets/upstream-errors.js';
import type { ErrorFilter } from '../request/error.filter.js';
import type { Exchange } from '../request/exchange.js';

const REPLAYED_LINE = 'Idempotent-Replayed: true\r\n';
const EMPTY_HASH = hash('sha256', '', 'base64url');

/** Replays responds to repeated requests with stored responses. */
export class Replays {
  constructor(private readonly filter: ErrorFilter) {}

  /** Reads the body of a repeated request, then responds with the stored response or a problem. Never throws. */
  respond(exchange: Exchange, replay: Replay, bounds: UploadBounds): void {
    void this.replayIfSame(exchange, replay, bounds).catch((error: unknown) => this.filter.respond(error, exchange));
  }

  /** Sends the stored response if the body has the digest of the first request. Otherwise rejects with a 422. */
  private async replayIfSame(exchange: Exchange, replay: Replay, bounds: UploadBounds): Promise<void> {
    const bodyHash = await bodyHashOf(exchange, bounds);
    if (bodyHash !== replay.bodyHash) {
      METRICS.idempotentRequests.series('mismatch').inc();
      throw MISMATCH;
    }
    const response = await replay.read();
    if (exchange.response.isGone) return;
    // The stored response has just expired. The gateway will carry out a retry as a first request.
    if (response === undefined) throw inProgress();
    METRICS.idempotentRequests.series('replayed').inc();
    writeStored(exchange, response);
  }
}

/**
 * Reads the body of a request and returns its digest. Rejects with a `Problem` if the body is too large, too slow or
 * incomplete.
 */
async function bodyHashOf(exchange: Exchange, { maxBodyBytes, idleTimeoutMs }: UploadBounds): Promise<string> {
  const { message, response } = exchange;
  if (!hasBody(message)) return EMPTY_HASH;
  if (message.body !== undefined) {
    exchange.bytesIn = message.body.length;
    return hash('sha256', message.body, 'base64url');
  }
  const digest = createHash('sha256');
  // A body that did not arrive with the head can be read only through Node's request.
  const body = new RequestBody(message as IncomingMessage, maxBodyBytes, (piece) => {
    digest.update(piece);
    exchange.bytesIn = body.bytes;
    timer.refresh();
  });
  const timer = setTimeout(() => body.destroy(peerError('TRAILGATE_CLIENT_TOO_SLOW')), idleTimeoutMs);
  if (expectsContinue(message)) response.nodeResponse.writeContinue();
  try {
    await new Promise<void>((resolve, reject) => body.once('end', resolve).once('error', reject).resume());
  } catch (error) {
    throw failedProblem(upstreamFailure(error), error);
  } finally {
    clearTimeout(timer);
  }
  return digest.digest('base64url');
}

function writeStored(exchange: Exchange, { status, code, lines, body }: StoredResponse): void {
  const { response, dateLine } = exchange;
  exchange.problemCode = code;
  exchange.bytesOut = body.length;
  // `code` is empty unless the stored response is a problem.
  const gatewayLines = code === '' ? exchange.responseLines : exchange.problemLines;
  const head = `${lines}${REPLAYED_LINE}${dateLine}${gatewayLines}`;
  if (response.canWriteWhole) {
    response.writeWhole(status, head, body);
    return;
  }
  response.nodeResponse.writeHead(status, fieldsOfLines(head));
  endResponse(response.nodeResponse, body);
}
