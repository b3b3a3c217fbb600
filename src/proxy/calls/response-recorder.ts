/**
 * Records the response of a request with an `Idempotency-Key` before the client gets its last byte. The claim ends with
 * the call: recorded, released if nothing was carried out, or lost if the outcome is unknown.
 */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import { outcomeOfStatus } from '../../idempotency/outcome-of-status.js';
import type { KeyClaim } from '../../idempotency/key-claim.js';
import { keptLines } from '../../idempotency/kept-fields.js';
import { Problem } from '../../platform/problems/errors.js';
import { passedFields } from '../fields/response-headers.js';
import type { KeptRequest } from '../targets/forward-request.js';
import { MOST_KEPT_BYTES, type ResponseKeeper } from './kept-sink.js';
import { withLength, type RespondingCall } from './response-sink.js';

/** Tells the client that a retry will not replay this response. */
const NOT_STORED = ['Idempotency-Stored', 'false'] as const;
const NOT_STORED_LINE = `${NOT_STORED.join(': ')}\r\n`;
/** Content types that clients read incrementally. They must not be held back. */
const STREAM_TYPE = new RegExp(
  `(?:^|\\n)content-type:[ \\t]*(?:${[
    'text/event-stream',
    'multipart/x-mixed-replace',
    'application/(?:[\\w.-]*ndjson|jsonl|json-seq|stream\\+json|grpc[\\w.+-]*)',
  ].join('|')})[ \\t]*[;\\r]`,
  'i',
);

export class ResponseRecorder implements ResponseKeeper {
  private readonly claim: KeyClaim;
  private lines = '';
  private isUnsized = false;

  constructor(private readonly kept: KeptRequest) {
    this.claim = kept.claim;
  }

  /** Starts the call, which is responsible for the claim from now on. @throws Problem as the call does. */
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
    this.claim.takeBody(piece);
  }

  wants(call: RespondingCall, { lines, framing, contentLength }: ResponseHead): boolean {
    if (framing !== Framing.Length && STREAM_TYPE.test(lines)) return false;
    const { basePath, ownCors } = call.request;
    const references = call.endpoint?.references(basePath);
    this.lines = keptLines(passedFields(lines, { ownCors, references }).lines);
    this.isUnsized = framing === Framing.Chunked || framing === Framing.Close;
    return contentLength <= MOST_KEPT_BYTES;
  }

  decline({ status, isBodyWhole }: RespondingCall): string {
    if (!this.claim.isOpen) return '';
    // The request was carried out. A retry learns only that.
    this.claim.end(status, isBodyWhole, undefined);
    return NOT_STORED_LINE;
  }

  store({ status, isBodyWhole }: RespondingCall, body: Buffer, done: (lines: string) => void): void {
    const lines = withLength(this.lines, body.length, this.isUnsized);
    this.claim.end(status, isBodyWhole, { status, code: '', lines, body }, (isStored) =>
      done(isStored ? '' : NOT_STORED_LINE),
    );
  }

  /**
   * Reports whether the backend's error is the final result of the request. Otherwise ends the claim.
   * @param authenticates see `outcomeOfStatus`.
   */
  wantsError({ status, isBodyWhole }: RespondingCall, authenticates: boolean): boolean {
    const fate = outcomeOfStatus(status, authenticates);
    // Rejected before the body was complete: the request was never carried out.
    if (fate === 'released' || !isBodyWhole) this.claim.release();
    else if (fate === 'unknown') this.claim.lose();
    return this.claim.isOpen;
  }

  /** Stores the problem. Calls `done` with the problem to send to the client. */
  keepError({ status }: RespondingCall, problem: Problem, done: (problem: Problem) => void): void {
    this.claim.end(status, true, this.kept.problemResponse(problem), (isStored) =>
      done(isStored ? problem : notStored(problem)),
    );
  }

  /** Ends the claim after the call. @param mayBeDone whether the backend may have carried out the request. */
  conclude(mayBeDone: boolean): void {
    if (mayBeDone) this.claim.lose();
    else this.claim.release();
  }
}

function notStored(problem: Problem): Problem {
  const headers = [...(problem.options.headers ?? []), ...NOT_STORED];
  return new Problem(problem.code, { ...problem.options, headers });
}
