/**
 * One call to a backend, retries included: what its connection tells it, it writes straight to the client's. A small body goes
 * out together with its head in one write, which saves a tenth of the cost of a request; everything else streams.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Problem } from '../../problems/errors.js';
import { Framing, type AnswerHead } from '../../http1/backend/answer-head.js';
import type { Call, Sending } from '../../http1/backend/call.js';
import { fieldsOfLines } from '../../http1/grammar/fields.js';
import { responseHead } from './response-head.js';
import type { Deadlines, Expiring } from '../targets/deadlines.js';
import type { Endpoint } from '../targets/endpoint.js';
import { cutResponse, endResponse } from './end-response.js';
import { ErrorResponse } from './error-response.js';
import type { CloseListener, ForwardRequest } from '../targets/forward-request.js';
import { HeldResponse, LARGEST_HELD_BYTES } from './held-response.js';
import { MOST_INTERIM_RESPONSES, passInterimResponse } from './interim-responses.js';
import type { CutKind, PendingCall } from '../targets/pending-call.js';
import { expectsContinue, hasBody, peerError, RequestBody } from './request-body.js';
import { verdictOf } from '../targets/balancer.js';
import { isRepeatable, mayRetry, toldAfterSending } from '../targets/retry-rules.js';
import { passableTrailers, takesTrailers } from '../fields/trailers.js';
import { failedProblem } from '../targets/unavailable.js';
import { upstreamFailure, type UpstreamFailure, type UpstreamOutcome } from '../targets/upstream-errors.js';
import { noteStream } from '../targets/upstream-metrics.js';
import type { Upstream } from '../targets/upstream.js';

/** How long a target that was ejected may take for its first answer, when another one could give it. */
const PROBE_TIMEOUT_MS = 2_000;

export class HttpCall implements Call, Expiring, CloseListener, PendingCall {
  readonly method: string;
  readonly bodyBytes: number;
  target = '';
  body: RequestBody | null = null;
  deadlineMs = Infinity;
  deadlineSlot = -1;
  endpoint: Endpoint | undefined;
  activeSlot = -1;
  isWaiting = false;
  nextWaiting: PendingCall | undefined;
  previousWaiting: PendingCall | undefined;
  private startedMs = performance.now();
  /** When a retry must have its answer. */
  private answerDueMs = Infinity;
  private retries = 0;
  /** The connection that has it. */
  private sending: Sending | undefined;
  private abortReason: Error | undefined;
  private readonly withBody: boolean;
  /** A byte of an answer has come, if only of an interim one. */
  private answerBegun = false;
  private status = 0;
  /** An answer of which nothing has been written yet. */
  private held: HeldResponse | undefined;
  private errorResponse: ErrorResponse | undefined;
  /** The held answer is waited for, however many pieces it comes in. */
  private isPatient = false;
  private interimResponses = 0;
  private settled = false;
  private answerEnded = false;
  private waitingForClient = false;
  /** Why this call may not become a stream. */
  private barred: Problem | undefined;

  constructor(
    private readonly upstream: Upstream,
    readonly request: ForwardRequest,
    private readonly deadlines: Deadlines,
  ) {
    const { message } = request;
    this.method = message.method ?? '';
    this.withBody = hasBody(message);
    this.bodyBytes = this.withBody ? Number(message.headers['content-length'] ?? -1) : -1;
  }

  get accountId(): string {
    return this.request.accountId;
  }

  get isRepeatable(): boolean {
    return !this.withBody && isRepeatable(this.method);
  }

  get isMovable(): boolean {
    if (this.abortReason !== undefined || !this.isRetryLeft) return false;
    return this.sending === undefined || (this.isRepeatable && !this.answerBegun);
  }

  /**
   * Sends it, or lets it wait for a connection; begins to watch the client and the clock.
   * @throws Problem as `Upstream.admit`.
   */
  start(): void {
    const endpoint = this.upstream.admit(this);
    const { timeouts } = this.upstream.config;
    this.deadlineIn(timeouts.connect + (this.withBody ? timeouts.idle : timeouts.firstByte));
    this.answerDueMs = this.deadlineMs;
    this.deadlines.add(this);
    this.request.client.closeListener = this;
    if (endpoint !== undefined) this.send(endpoint);
  }

  send({ pool, prefix }: Endpoint): void {
    const { request } = this;
    const { message } = request;
    request.client.wasSent = true;
    if (this.withBody && this.body === null) {
      // What has a body is read by Node.
      this.body = new RequestBody(message as IncomingMessage, this.upstream.config.maxBodyBytes, () =>
        this.onBodyProgress(),
      );
      if (expectsContinue(message)) request.client.answer.response.writeContinue();
    }
    this.target = prefix + request.path;
    pool.dispatch(this);
  }

  move(): void {
    this.abort(peerError('TRAILGATE_TARGET_LOST'));
  }

  refuse(problem: Problem): void {
    this.finish(undefined);
    this.request.client.onFailed(problem);
  }

  bar(problem: Problem): CutKind | undefined {
    this.barred = problem;
    const { message, client } = this.request;
    if (this.isWaiting) {
      this.refuse(problem);
      return undefined;
    }
    if (this.settled || this.answerEnded) return undefined;
    const { hasBegun } = client.answer;
    const isUpload = !hasBegun && this.body !== null && !message.complete;
    if (!hasBegun && !isUpload) return undefined;
    this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
    return isUpload ? 'upload' : 'answer';
  }

  /** A piece of the request body has arrived. */
  onBodyProgress(): void {
    this.deadlineIn(this.upstream.config.timeouts.idle);
  }

  /** The deadline has passed: the backend is too slow, or the client is, in sending or in reading. */
  expire(): void {
    if (this.isWaiting) this.refuse(this.upstream.waitedInVain(this));
    else if (this.waitingForClient) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else if (this.status > 0) this.abort(peerError('TRAILGATE_IDLE_TIMEOUT'));
    else if (this.isClientSending()) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else this.abort(peerError('TRAILGATE_FIRST_BYTE_TIMEOUT'));
  }

  private isClientSending(): boolean {
    return this.body !== null && !this.body.readableEnded && !this.body.isHeldByBackend;
  }

  get fieldLines(): string {
    return this.request.fieldLines;
  }

  onConnection(sending: Sending): void {
    this.sending = sending;
  }

  /** The whole request has been sent: from here on the backend has to answer. */
  onSent(): void {
    if (this.status > 0) return;
    const { firstByte } = this.upstream.config.timeouts;
    this.deadlineIn(this.isHiddenProbe ? Math.min(firstByte, PROBE_TIMEOUT_MS) : firstByte);
    if (this.retries > 0) this.deadlineMs = Math.min(this.deadlineMs, this.answerDueMs);
  }

  onInterim({ status, lines }: AnswerHead): void {
    this.answerBegun = true;
    if (this.interimResponses++ < MOST_INTERIM_RESPONSES) passInterimResponse(this.request, status, lines);
  }

  onHead({ status, lines, framing, contentLength }: AnswerHead): void {
    this.status = status;
    if (status >= 502 && this.isHiddenProbe && verdictOf('answered', status) === 'bad') {
      this.abort(peerError('TRAILGATE_PROBE_FAILED'));
      return;
    }
    this.answerBegun = true;
    this.deadlineIn(this.upstream.config.timeouts.idle);
    if (this.endpoint?.probe === this) this.upstream.probeAnswered(this, this.endpoint, status);
    if (status >= 400) {
      this.errorResponse = new ErrorResponse(status, fieldsOfLines(lines));
      return;
    }
    const isStream = framing === Framing.Chunked || framing === Framing.Close;
    this.held = new HeldResponse(responseHead(this.request, lines, this.endpoint, isStream), isStream);
    // One whose length nobody tells may be here as a whole; see `onPartial`.
    const mayTrail = isStream && takesTrailers(this.request.message);
    if (mayTrail || framing === Framing.Close || contentLength > LARGEST_HELD_BYTES) this.stream();
    else this.isPatient = framing === Framing.Length;
  }

  onWhole(body: Buffer): void {
    if (this.errorResponse === undefined) this.held?.add(body);
    else this.errorResponse.add(Buffer.from(body));
  }

  onData(piece: Buffer): void {
    // An error waits for its end, and whoever asked with it: it has the time from its head on, however it trickles in.
    if (this.errorResponse !== undefined) {
      this.errorResponse.add(piece);
      if (this.errorResponse.isTooLarge) this.respondWithProblem(this.errorResponse);
      return;
    }
    this.deadlineIn(this.upstream.config.timeouts.idle);
    const { held } = this;
    if (held === undefined) {
      this.write(piece);
      return;
    }
    held.add(piece);
    if (held.isTooLarge) this.stream();
  }

  /** One whose end may be far is not held any longer. */
  onPartial(): void {
    if (!this.isPatient) this.stream();
  }

  onEnd(trailerText: string): void {
    if (this.settled) return;
    if (this.errorResponse !== undefined) {
      this.respondWithProblem(this.errorResponse);
      return;
    }
    const { held } = this;
    const { answer } = this.request.client;
    if (held !== undefined && this.method !== 'HEAD' && answer.takesWhole) {
      this.finish('answered');
      answer.writeWhole(this.status, held.wholeLines, held.body);
      return;
    }
    // Before the call counts as over: whatever this throws comes back as `onError`.
    if (held !== undefined) this.writeHead(held.wholeLines);
    if (trailerText !== '') this.addTrailers(trailerText);
    this.finish('answered');
    this.answerEnded = true;
    endResponse(this.response, held?.body);
  }

  onError(error: Error): void {
    if (this.settled) return;
    const failure = upstreamFailure(this.abortReason ?? error);
    if (this.request.client.answer.hasBegun) {
      // What went out so far must not look complete: no last chunk, no matching length, the connection is cut.
      this.finish(this.abortReason === undefined ? 'body_broken_off' : failure.outcome);
      cutResponse(this.request);
      return;
    }
    const target = this.endpoint?.target ?? '';
    if (this.retry(failure)) return;
    this.request.client.failedTarget = target;
    this.finish(failure.outcome);
    if (this.barred !== undefined && failure.outcome === 'access_ended') this.request.client.onFailed(this.barred);
    else this.fail(failedProblem(failure, error));
  }

  private fail(problem: Problem): void {
    this.request.client.onFailed(this.sending === undefined ? problem : toldAfterSending(problem, this.method));
  }

  /** Whether it tries an ejected target, and its caller need not hear of it should that fail: another one can answer. */
  private get isHiddenProbe(): boolean {
    const { endpoint } = this;
    if (endpoint === undefined || endpoint.probe !== this || this.answerBegun) return false;
    return this.isRepeatable && this.isRetryLeft && this.upstream.isSpare(endpoint);
  }

  private get isRetryLeft(): boolean {
    return this.retries < this.upstream.config.retries.most && this.deadlines.nowMs < this.answerDueMs;
  }

  /** Sends it once more where that is safe and there is somewhere to send it. Whether it does. */
  private retry(failure: UpstreamFailure): boolean {
    const { endpoint, upstream } = this;
    if (endpoint === undefined || !this.isRetryLeft || this.answerBegun || this.body?.destroyed === true) return false;
    const wasOpened = this.sending !== undefined;
    const isProbe = endpoint.probe === this;
    const isSpare = isProbe && upstream.isAvailable;
    if (!mayRetry(failure.outcome, wasOpened, this.isRepeatable, isSpare, this.abortReason !== undefined)) return false;
    // Before the choice: this failure may be the one that takes the target out.
    this.leaveTarget(failure.outcome);
    const next = upstream.retry(this, endpoint, wasOpened && this.retries === 0, isProbe);
    if (next === undefined) return false;
    this.retries++;
    this.status = 0;
    this.sending = undefined;
    this.abortReason = undefined;
    this.startedMs = performance.now();
    this.deadlineMs = this.answerDueMs;
    this.send(next);
    return true;
  }

  /** Passes on what has been held back, and from now on everything as it comes. */
  private stream(): void {
    const { held } = this;
    if (held === undefined) return;
    if (this.barred !== undefined) {
      this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
      return;
    }
    noteStream(this.request.client, this.startedMs);
    this.writeHead(held.lines);
    this.response.flushHeaders();
    for (const piece of held.takePieces()) this.write(piece);
  }

  private writeHead(lines: string): void {
    this.held = undefined;
    this.response.writeHead(this.status, fieldsOfLines(lines));
  }

  private write(piece: Buffer): void {
    if (!this.response.write(piece) && !this.waitingForClient) this.waitForClient();
  }

  private addTrailers(text: string): void {
    const passed = passableTrailers(text);
    if (passed !== undefined && takesTrailers(this.request.message)) this.response.addTrailers(passed);
  }

  private get response(): ServerResponse {
    return this.request.client.answer.response;
  }

  /** The client reads more slowly than the backend writes: stop reading until its connection has room again. */
  private waitForClient(): void {
    this.waitingForClient = true;
    this.sending?.pause(this);
    this.response.once('drain', () => {
      this.waitingForClient = false;
      this.deadlineIn(this.upstream.config.timeouts.idle);
      this.sending?.resume(this);
    });
  }

  private respondWithProblem(answer: ErrorResponse): void {
    if (this.settled) return;
    const { authenticates, errors } = this.upstream.config;
    const problem = answer.problem(authenticates, errors);
    const { client } = this.request;
    client.failedTarget = this.endpoint?.target ?? '';
    client.failedStatus = this.status;
    this.finish('answered');
    // Whatever is left of the body is of no use; the connection goes with it.
    if (answer.isTooLarge) this.sending?.abort(this, peerError('TRAILGATE_ENOUGH'));
    this.fail(problem);
  }

  /** The client's connection is done with the answer, or gone: only one that was cut short ends the call. */
  onClose(): void {
    if (!this.settled && !this.answerEnded) this.abort(peerError('TRAILGATE_CLIENT_GONE'));
  }

  private abort(reason: Error): void {
    if (this.settled || this.abortReason !== undefined) return;
    this.abortReason = reason;
    this.deadlineMs = Infinity;
    if (this.sending === undefined) {
      this.endpoint?.pool.cancel(this);
      this.onError(reason);
    } else this.sending.abort(this, reason);
  }

  /** @param outcome undefined: it was never sent. */
  private finish(outcome: UpstreamOutcome | undefined): void {
    this.settled = true;
    this.deadlines.remove(this);
    this.request.client.closeListener = undefined;
    this.body?.destroy();
    if (this.isWaiting) this.upstream.leave(this);
    else if (outcome !== undefined) this.leaveTarget(outcome);
    if (this.retries > 0) this.upstream.metrics.retry(outcome === 'answered' ? 'answered' : 'failed');
  }

  private leaveTarget(outcome: UpstreamOutcome): void {
    // Already, when it failed and could not be sent once more.
    if (this.endpoint === undefined) return;
    const durationMs = performance.now() - this.startedMs;
    const { client } = this.request;
    client.upstreamMs = this.retries === 0 ? durationMs : client.upstreamMs + durationMs;
    this.upstream.release(this, outcome, this.status, durationMs);
  }

  private deadlineIn(timeoutMs: number): void {
    this.deadlineMs = this.deadlines.after(timeoutMs);
  }
}
