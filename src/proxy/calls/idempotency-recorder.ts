/**
 * Records the response to a request with an `Idempotency-Key` before the client receives the last byte. The call ends
 * the claim of the request. A request that was not carried out can be sent again, and retries after an unknown outcome
 * are rejected.
 */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import { outcomeOfStatus } from '../../idempotency/outcome-of-status.js';
import type { KeyClaim } from '../../idempotency/key-claim.js';
import { selectStoredLines } from '../../idempotency/stored-lines.js';
import { Problem } from '../../platform/problems/errors.js';
import { passedFields } from '../fields/response-headers.js';
import type { IdempotencyContext } from '../targets/forward-request.js';
import { MAX_RECORDED_BYTES, type ResponseRecorder } from './recorder-sink.js';
import { withLength, type RespondingCall } from './response-sink.js';

/** Header field that tells the client that a retry will not replay this response. */
const NOT_STORED = ['Idempotency-Stored', 'false'] as const;
const NOT_STORED_LINE = `${NOT_STORED.join(': ')}\r\n`;
/**
 * Content types that clients read incrementally. A response with such a type must be streamed if it has no
 * `Content-Length`.
 */
const STREAM_TYPE = new RegExp(
  `(?:^|\\n)content-type:[ \\t]*(?:${[
    'text/event-stream',
    'multipart/x-mixed-replace',
    'application/(?:[\\w.-]*ndjson|jsonl|json-seq|stream\\+json|grpc[\\w.+-]*)',
  ].join('|')})[ \\t]*[;\\r]`,
  'i',
);

export class IdempotencyRecorder implements ResponseRecorder {
  private readonly claim: KeyClaim;
  /** Field lines to store, each with its CRLF. */
  private lines = '';
  /** Whether the backend sent no `Content-Length`. */
  private isUnsized = false;

  constructor(private readonly context: IdempotencyContext) {
    this.claim = context.claim;
  }

  /** Starts the call. From then on, the call must end the claim. @throws Problem if the call cannot start. */
  start(call: { start(): void }): void {
    this.claim.isTaken = true;
    try {
      call.start();
    } catch (error) {
      this.claim.release();
      throw error;
    }
  }

  /** Adds a piece of the request body to the request's digest. */
  addBody(piece: Buffer): void {
    this.claim.digestBody(piece);
  }

  wantsResponse(call: RespondingCall, { lines, framing, contentLength }: ResponseHead): boolean {
    if (framing !== Framing.Length && STREAM_TYPE.test(lines)) return false;
    const { basePath, ownCors } = call.request;
    const references = call.endpoint?.references(basePath);
    this.lines = selectStoredLines(passedFields(lines, { ownCors, references }).lines);
    this.isUnsized = framing === Framing.Chunked || framing === Framing.Close;
    return contentLength <= MAX_RECORDED_BYTES;
  }

  skipResponse({ status, isBodyWhole }: RespondingCall): string {
    if (!this.claim.isOpen) return '';
    // The backend carried out the request. Only this fact is stored, so a retry cannot replay the response.
    this.claim.end(status, isBodyWhole, undefined);
    return NOT_STORED_LINE;
  }

  storeResponse({ status, isBodyWhole }: RespondingCall, body: Buffer, done: (lines: string) => void): void {
    const lines = withLength(this.lines, body.length, this.isUnsized);
    this.claim.end(status, isBodyWhole, { status, code: '', lines, body }, (isStored) =>
      done(isStored ? '' : NOT_STORED_LINE),
    );
  }

  /**
   * Reports whether the backend's error response is the final result of the request. If not, ends the claim.
   * @param authenticates whether the service checks the client's own credentials.
   */
  wantsError({ status, isBodyWhole }: RespondingCall, authenticates: boolean): boolean {
    const outcome = outcomeOfStatus(status, authenticates);
    // If the body was incomplete, the backend rejected the request early and never carried it out.
    if (outcome === 'released' || !isBodyWhole) this.claim.release();
    else if (outcome === 'unknown') this.claim.endAsUnknown();
    return this.claim.isOpen;
  }

  /** Stores the problem. Calls `done` with the problem to send to the client. */
  storeError({ status }: RespondingCall, problem: Problem, done: (problem: Problem) => void): void {
    this.claim.end(status, true, this.context.problemResponse(problem), (isStored) =>
      done(isStored ? problem : notStored(problem)),
    );
  }

  /**
   * Ends the claim after the call, unless the claim has already ended.
   * @param mayBeCarriedOut whether the backend may have carried out the request.
   */
  conclude(mayBeCarriedOut: boolean): void {
    if (mayBeCarriedOut) this.claim.endAsUnknown();
    else this.claim.release();
  }
}

function notStored(problem: Problem): Problem {
  const headers = [...(problem.options.headers ?? []), ...NOT_STORED];
  return new Problem(problem.code, { ...problem.options, headers });
}
