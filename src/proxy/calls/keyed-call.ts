/**
 * A call that carries out a request with an `Idempotency-Key`: its response stands in the store before its client has
 * the last byte of it. However the call ends, its claim ends with it: kept, released where nothing was carried out, or
 * lost where nobody can say.
 */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { fateOf } from '../../idempotency/fate.js';
import type { KeyClaim } from '../../idempotency/key-claim.js';
import { keptLines } from '../../idempotency/kept-fields.js';
import type { KeptResponse } from '../../idempotency/record.js';
import { Problem } from '../../platform/problems/errors.js';
import { passedFields } from '../fields/response-headers.js';
import type { Deadlines } from '../targets/deadlines.js';
import type { ForwardRequest, KeptRequest } from '../targets/forward-request.js';
import { toldAfterSending } from '../targets/retry-rules.js';
import type { UpstreamOutcome } from '../targets/upstream-errors.js';
import type { Upstream } from '../targets/upstream.js';
import { CallState } from './call-state.js';
import { HeldCall, MOST_KEPT_BYTES, type ResponseKeeper } from './held-call.js';
import type { HeldResponse } from './held-response.js';
import { RequestBody } from './request-body.js';

/** Says that a retry will not be told the response. */
const NOT_STORED = ['Idempotency-Stored', 'false'] as const;
const NOT_STORED_LINE = `${NOT_STORED.join(': ')}\r\n`;
/** What is read as it comes, piece by piece, and must not be held back. */
const STREAM_TYPE = new RegExp(
  `(?:^|\\n)content-type:[ \\t]*(?:${[
    'text/event-stream',
    'multipart/x-mixed-replace',
    'application/(?:[\\w.-]*ndjson|jsonl|json-seq|stream\\+json|grpc[\\w.+-]*)',
  ].join('|')})[ \\t]*[;\\r]`,
  'i',
);

/** KeyedCall carries the request out, once. */
export class KeyedCall extends HeldCall {
  private readonly claim: KeyClaim;
  /** Whether all of the request has been handed to a connection: from here on it may have been carried out. */
  private wasSentWhole = false;

  /** @param others who want the response as well, and before it is stored: what they make of it is made once. */
  constructor(
    upstream: Upstream,
    request: ForwardRequest,
    deadlines: Deadlines,
    private readonly kept: KeptRequest,
    others: readonly ResponseKeeper[],
  ) {
    const keeper = new ResponseStorage(request, kept.claim);
    super(upstream, request, deadlines, [...others, keeper]);
    keeper.call = this;
    this.claim = kept.claim;
  }

  override start(): void {
    this.claim.isTaken = true;
    try {
      super.start();
    } catch (error) {
      this.claim.release();
      throw error;
    }
  }

  protected override get areErrorsWanted(): boolean {
    return true;
  }

  /** Whether all of the request's body is here, and so in the digest. */
  get isBodyWhole(): boolean {
    const { body } = this;
    return !(body instanceof RequestBody) || body.isWhole;
  }

  protected override takeBody(message: ClientMessage): void {
    if (message.body !== undefined) this.claim.takeBody(message.body);
    super.takeBody(message);
  }

  protected override onBodyProgress(piece: Buffer): void {
    this.claim.takeBody(piece);
    super.onBodyProgress(piece);
  }

  override onSent(): void {
    this.wasSentWhole = true;
    super.onSent();
  }

  override onHead(head: ResponseHead): void {
    super.onHead(head);
    // Nobody wants it whole, or it would have been streamed by now.
    if (this.held !== undefined && !this.isWanted) this.stream();
  }

  /** It is too large, or must not be held back: it was carried out, and a retry will hear no more than that. */
  protected override stream(): void {
    const { held } = this;
    if (held !== undefined && this.claim.isOpen) {
      held.lines += NOT_STORED_LINE;
      this.claim.end(this.status, this.isBodyWhole, undefined);
    }
    super.stream();
  }

  /** An error of the backend is the result of the request, unless it says that the request was not carried out. */
  protected override refusedBy(problem: Problem): void {
    const { claim, status } = this;
    const fate = fateOf(status, this.upstream.config.authenticates);
    // Refused on sight of a part of it: it was never carried out as a whole.
    if (fate === 'released' || !this.isBodyWhole) claim.release();
    else if (fate === 'unknown') claim.lose();
    if (!claim.isOpen) {
      super.refusedBy(problem);
      return;
    }
    this.noteRefusal();
    this.beginKeeping();
    const told = toldAfterSending(problem, this.method);
    claim.end(status, true, this.kept.problemResponse(told), (isStored) => this.onErrorKept(told, isStored));
  }

  private onErrorKept(problem: Problem, isStored: boolean): void {
    this.isBeingKept = false;
    if (this.state !== CallState.Failing) return;
    if (this.isLeft) this.end('answered');
    else this.endRefused(isStored ? problem : notStored(problem));
  }

  protected override end(outcome: UpstreamOutcome | undefined): void {
    super.end(outcome);
    // A response of which something has come is a sign of life; a request that never left here whole is none.
    if (this.wasSentWhole || this.status > 0) this.claim.lose();
    else this.claim.release();
  }
}

/** Stores the response of a request that was carried out. */
class ResponseStorage implements ResponseKeeper {
  call!: KeyedCall;
  private lines = '';

  constructor(
    private readonly request: ForwardRequest,
    private readonly claim: KeyClaim,
  ) {}

  wants({ lines, framing, contentLength }: ResponseHead): boolean {
    if (framing !== Framing.Length && STREAM_TYPE.test(lines)) return false;
    const { basePath, ownCors } = this.request;
    const references = this.call.endpoint?.references(basePath);
    this.lines = keptLines(passedFields(lines, { ownCors, references }).lines);
    return contentLength <= MOST_KEPT_BYTES;
  }

  misses(): void {
    // Whoever streams it has said so.
  }

  keep(status: number, held: HeldResponse, done: () => void): void {
    const { body } = held;
    const lines = held.isChunked ? `${this.lines}Content-Length: ${body.length}\r\n` : this.lines;
    const response: KeptResponse = { status, code: '', lines, body };
    this.claim.end(status, this.call.isBodyWhole, response, (isStored) => {
      if (!isStored) held.lines += NOT_STORED_LINE;
      done();
    });
  }
}

function notStored(problem: Problem): Problem {
  const headers = [...(problem.options.headers ?? []), ...NOT_STORED];
  return new Problem(problem.code, { ...problem.options, headers });
}
