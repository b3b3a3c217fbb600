/**
 * HttpCall is one HTTP call to a backend, including its retries. The call sends the request, watches the deadlines and
 * reads error responses. A `ResponseSink` receives all other responses.
 */
import type { ResponseHead } from '../../http/backend/response-head.js';
import type { Call, Sending } from '../../http/backend/call.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import type { Problem } from '../../platform/problems/errors.js';
import { verdictOf } from '../targets/balancer.js';
import type { Deadlines } from '../targets/deadlines.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import type { CutKind } from '../targets/pending-call.js';
import { isRepeatable, withoutAutomaticRetry } from '../targets/retry-rules.js';
import { failedProblem } from '../targets/call-problems.js';
import { upstreamFailure, type UpstreamOutcome } from '../targets/upstream-errors.js';
import { recordStreamStart } from '../targets/upstream-metrics.js';
import type { Upstream } from '../targets/upstream.js';
import { BackendCall } from './backend-call.js';
import { CallState } from './call-state.js';
import { ErrorResponse } from './error-response.js';
import { MAX_INTERIM_RESPONSES, passInterimResponse } from './interim-responses.js';
import { bodyOf, hasBody, peerError, RequestBody } from './request-body.js';
import type { IdempotencyRecorder } from './idempotency-recorder.js';
import type { RespondingCall, ResponseSink } from './response-sink.js';

/** Time limit for the response to a probe of an ejected target if another target could take over. */
const PROBE_TIMEOUT_MS = 2_000;

export class HttpCall extends BackendCall implements Call, RespondingCall {
  readonly method: string;
  readonly bodyBytes: number;
  target = '';
  body: RequestBody | Buffer | null = null;
  private readonly withBody: boolean;
  /** The current or latest connection. */
  private sending: Sending | undefined;
  private interimResponses = 0;
  /** Whether the response is complete, but the request body is still being sent. */
  private isUploading = false;
  /** Whether the complete request was sent. The backend may then have carried out the request. */
  private wasSentWhole = false;
  /** Whether recorders are storing the response. Errors of the backend connection are then ignored. */
  private isRecording = false;
  /** Whether the client has disconnected while recorders still need the response. */
  isClientGone = false;
  /** The error response that is being read, in state `Failing`. */
  private errorResponse: ErrorResponse | undefined;

  /** @param recorder set for requests with an `Idempotency-Key`. */
  constructor(
    upstream: Upstream,
    request: ForwardRequest,
    deadlines: Deadlines,
    private readonly sink: ResponseSink,
    private readonly recorder?: IdempotencyRecorder,
  ) {
    super(upstream, request, deadlines);
    const { message } = request;
    this.method = message.method ?? '';
    this.withBody = hasBody(message);
    this.bodyBytes = this.withBody ? Number(message.headers['content-length'] ?? -1) : -1;
  }

  get fieldLines(): string {
    return this.request.fieldLines;
  }

  get isRepeatable(): boolean {
    return !this.withBody && isRepeatable(this.method);
  }

  protected get mostRetries(): number {
    return this.upstream.config.retries.most;
  }

  get isBodyWhole(): boolean {
    const { body } = this;
    return !(body instanceof RequestBody) || body.isWhole;
  }

  protected get isIntact(): boolean {
    return !(this.body instanceof RequestBody) || !this.body.destroyed;
  }

  protected get isClientSending(): boolean {
    const { body } = this;
    return body instanceof RequestBody && !body.readableEnded && !body.isHeldByBackend;
  }

  /** Sends or queues the call. @throws Problem for the reasons of `Upstream.admit`. */
  start(): void {
    const { idle, firstByte } = this.upstream.config.timeouts;
    const isStreamed = this.withBody && this.request.message.body === undefined;
    this.begin(isStreamed ? idle : firstByte);
  }

  protected connect({ pool, prefix }: Endpoint): void {
    if (this.withBody && this.body === null) this.openBody();
    this.target = prefix + this.request.path;
    pool.dispatch(this);
  }

  /** Opens the request body. Retries use the same body. */
  private openBody(): void {
    this.body = bodyOf(this.request, this.upstream.config.maxBodyBytes, (piece) => this.onBodyProgress(piece));
    if (this.body instanceof Buffer) this.recorder?.addBody(this.body);
  }

  protected disconnect(reason: Error, from: CallState): void {
    if (from === CallState.Connecting) this.endpoint?.pool.cancel(this);
    else this.sending?.abort(this, reason);
    this.handleFailure(reason, from, true);
  }

  protected endStreamOrUpload(): CutKind | undefined {
    if (this.isUploading) {
      this.sending?.endUpload(this);
      return 'upload';
    }
    const isStream = this.sink.deliversOnlyComplete || this.state >= CallState.Streaming;
    const isUpload = !isStream && this.body !== null && !this.request.message.complete;
    if (!isStream && !isUpload) return undefined;
    this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
    return isUpload ? 'upload' : 'answer';
  }

  /**
   * Handles the deadline. If only the upload is still in progress, ends just the upload, because the response is
   * complete. Otherwise, and if the client has stalled, ends the call.
   */
  override expire(): void {
    if (this.isUploading && this.state !== CallState.Stalled) this.sending?.endUpload(this);
    else super.expire();
  }

  private onBodyProgress(piece: Buffer): void {
    this.recorder?.addBody(piece);
    if (this.body instanceof RequestBody) this.request.client.bytesIn = this.body.bytes;
    this.deadlineIn(this.upstream.config.timeouts.idle);
  }

  onConnection(sending: Sending): void {
    this.changeState(CallState.Sent);
    this.request.client.wasSent = true;
    this.sending = sending;
  }

  /** Handles the end of the request. Starts the timeout for the response, unless the response has begun. */
  onSent(): void {
    this.wasSentWhole = true;
    if (this.state >= CallState.Held) return;
    const { firstByte } = this.upstream.config.timeouts;
    this.responseIn(this.isHiddenProbe ? Math.min(firstByte, PROBE_TIMEOUT_MS) : firstByte);
  }

  onInterim({ status, lines }: ResponseHead): void {
    if (this.isClientGone) return;
    if (this.state === CallState.Sent) this.changeState(CallState.Announced);
    if (this.interimResponses++ < MAX_INTERIM_RESPONSES) passInterimResponse(this.request, status, lines);
  }

  onHead(head: ResponseHead): void {
    const { status } = head;
    if (status >= 400 && this.isClientGone && this.recorder === undefined) {
      this.abandon();
      return;
    }
    this.status = status;
    if (status >= 502 && this.isHiddenProbe && verdictOf('answered', status) === 'bad') {
      this.abort(peerError('TRAILGATE_PROBE_FAILED'));
      return;
    }
    // Enter the state before anything can throw. The call is not retried from this state on.
    this.changeState(status >= 400 ? CallState.Failing : CallState.Held);
    this.deadlineIn(this.upstream.config.timeouts.idle);
    if (this.endpoint?.probe === this) this.upstream.recordProbeResponse(this, this.endpoint, status);
    if (status >= 400) this.errorResponse = new ErrorResponse(status, fieldsOfLines(head.lines));
    else this.sink.begin(this, head);
  }

  onWhole(body: Buffer): void {
    if (this.errorResponse === undefined) this.sink.addWhole(body);
    else this.errorResponse.add(Buffer.from(body));
  }

  onData(piece: Buffer): void {
    // Errors, and responses that are delivered as a whole, keep the deadline that `onHead` set.
    if (this.errorResponse !== undefined) {
      this.errorResponse.add(Buffer.from(piece));
      if (this.errorResponse.isTooLarge) this.respondWith(this.errorResponse);
      return;
    }
    if (!this.sink.deliversOnlyComplete) this.deadlineIn(this.upstream.config.timeouts.idle);
    this.sink.addPiece(piece);
  }

  onPartial(): void {
    if (this.errorResponse === undefined) this.sink.flush(false);
  }

  /**
   * Lets the sink send the complete response while the upload continues. The backend connection is not reused before
   * the upload ends.
   */
  onAnswered(): void {
    if (this.state >= CallState.Aborting) return;
    this.isUploading = true;
    this.deadlineIn(this.upstream.config.timeouts.idle);
    this.sink.flush(true);
  }

  onEnd(trailerText: string): void {
    this.isUploading = false;
    if (this.state >= CallState.Aborting) return;
    if (this.isUploadCut) this.request.client.onUploadCut();
    if (this.errorResponse === undefined) this.sink.end(trailerText);
    else this.respondWith(this.errorResponse);
  }

  /**
   * Handles a failure of the connection. Ignores the failure after an abort, and while recorders store the response.
   */
  onError(error: Error): void {
    if (this.state < CallState.Aborting && !this.isRecording) this.handleFailure(error, this.state, false);
  }

  /** Whether a successful response ended before the complete request body was sent. */
  private get isUploadCut(): boolean {
    const { body } = this;
    return this.status < 300 && body instanceof RequestBody && !body.readableEnded;
  }

  /**
   * Whether the call is a probe whose failure the client need not see, because a retry can hide it. No response has
   * arrived, the request is repeatable, a retry is left, and another target could take over.
   */
  private get isHiddenProbe(): boolean {
    const { endpoint } = this;
    if (endpoint === undefined || endpoint.probe !== this || this.state !== CallState.Sent) return false;
    return this.isRepeatable && this.isRetryLeft && this.upstream.hasAlternative(endpoint);
  }

  admitStream(): boolean {
    if (this.revocation !== undefined) {
      this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
      return false;
    }
    recordStreamStart(this.request.client, this.startedMs);
    return true;
  }

  markStreaming(): void {
    this.changeState(CallState.Streaming);
  }

  stall(): void {
    if (this.state !== CallState.Streaming) return;
    this.changeState(CallState.Stalled);
    this.sending?.pause(this);
  }

  resume(): void {
    if (this.state !== CallState.Stalled) return;
    this.changeState(CallState.Streaming);
    this.deadlineIn(this.upstream.config.timeouts.idle);
    this.sending?.resume(this);
  }

  finish(): void {
    this.end('answered');
  }

  dropRest(): void {
    this.sending?.abort(this, peerError('TRAILGATE_ENOUGH'));
  }

  beginRecording(): void {
    this.leaveTarget('answered');
    this.deadlineMs = Infinity;
    this.isRecording = true;
  }

  endRecording(): boolean {
    this.isRecording = false;
    if (this.state >= CallState.Aborting) return false;
    if (this.isClientGone) this.finish();
    return !this.isClientGone;
  }

  abandon(): void {
    super.onClose();
  }

  /** Aborts the call after the client has disconnected. If recorders may need the response, the call continues. */
  override onClose(): void {
    if (this.isClientGone) return;
    if (!this.outlivesClient) {
      this.abandon();
      return;
    }
    this.isClientGone = true;
    const { client } = this.request;
    client.closeListener = undefined;
    // Report the failure for the log only. The client has disconnected.
    const error = peerError('TRAILGATE_CLIENT_GONE');
    client.onFailed(failedProblem(upstreamFailure(error), error));
  }

  /** Whether the call continues after the client disconnects. */
  private get outlivesClient(): boolean {
    const { state, body } = this;
    if (state === CallState.Failing) return this.recorder !== undefined;
    if (!this.sink.outlivesClient) return false;
    if (state === CallState.Held) return true;
    const isSent = state === CallState.Sent || state === CallState.Announced;
    return isSent && (!(body instanceof RequestBody) || body.readableEnded);
  }

  /** Handles a failure. After the client has disconnected, the call ends without a retry and without a report. */
  protected override handleFailure(error: Error, from: CallState, wasAborted: boolean): void {
    if (this.isClientGone) this.end(upstreamFailure(error).outcome);
    else super.handleFailure(error, from, wasAborted);
  }

  /**
   * Sends the problem for an error response to the client. First stores the problem if the recorder wants the response.
   */
  private respondWith(response: ErrorResponse): void {
    const { authenticates, errors } = this.upstream.config;
    const problem = response.problem(authenticates, errors);
    if (this.recorder?.wantsError(this, authenticates) === true) this.recordError(this.recorder, problem);
    else this.endWithError(problem);
    // The rest of the body is not needed. `dropRest` also closes the connection.
    if (response.isTooLarge) this.dropRest();
  }

  private recordError(recorder: IdempotencyRecorder, problem: Problem): void {
    this.recordRefusal();
    this.beginRecording();
    recorder.storeError(this, withoutAutomaticRetry(problem, this.method), (reported) => {
      if (this.endRecording()) this.endRefused(reported);
    });
  }

  protected override end(outcome: UpstreamOutcome | undefined): void {
    if (this.body instanceof RequestBody) this.body.destroy();
    super.end(outcome);
    // Any part of a response proves that the backend received the request.
    this.recorder?.conclude(this.wasSentWhole || this.status > 0);
  }
}
