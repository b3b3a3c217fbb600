/**
 * One HTTP call to a backend, retries included: what its connection tells it, it writes straight to the client's. A
 * small body goes out together with its head in one write, which saves a tenth of the cost of a request; everything
 * else streams.
 */
import { Framing, type ResponseHead } from '../../http/backend/response-head.js';
import type { Call, Sending } from '../../http/backend/call.js';
import type { ClientMessage } from '../../http/client/client-response.js';
import { fieldsOfLines } from '../../http/grammar/fields.js';
import { takesTrailers } from '../fields/trailers.js';
import { verdictOf } from '../targets/balancer.js';
import type { Deadlines } from '../targets/deadlines.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import type { CutKind } from '../targets/pending-call.js';
import { isRepeatable } from '../targets/retry-rules.js';
import type { UpstreamOutcome } from '../targets/upstream-errors.js';
import { noteStream } from '../targets/upstream-metrics.js';
import type { Upstream } from '../targets/upstream.js';
import { BackendCall } from './backend-call.js';
import { CallState } from './call-state.js';
import { ErrorResponse } from './error-response.js';
import { HeldResponse, LARGEST_HELD_BYTES } from './held-response.js';
import { MOST_INTERIM_RESPONSES, passInterimResponse } from './interim-responses.js';
import { bodyOf, hasBody, peerError, RequestBody } from './request-body.js';
import { responseHead } from './response-head.js';
import { StreamedResponse } from './streamed-response.js';

/** How long a target that was ejected may take for its first response, when another one could give it. */
const PROBE_TIMEOUT_MS = 2_000;

export class HttpCall extends BackendCall implements Call {
  readonly method: string;
  readonly bodyBytes: number;
  target = '';
  body: RequestBody | Buffer | null = null;
  private readonly withBody: boolean;
  /** The connection that has it, or had it. */
  private sending: Sending | undefined;
  private interimResponses = 0;
  /** The response is whole, and the rest of the body is being passed on. */
  private isUploading = false;
  /** While the state is `Held`. */
  protected held: HeldResponse | undefined;
  /** From `Streaming` on. */
  private streamed: StreamedResponse | undefined;
  /** From `Failing` on. */
  private errorResponse: ErrorResponse | undefined;

  constructor(upstream: Upstream, request: ForwardRequest, deadlines: Deadlines) {
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

  /** A larger body is not held back. */
  protected get mostHeldBytes(): number {
    return this.request.client.response.mostWholeBytes ?? LARGEST_HELD_BYTES;
  }

  /** Whether a body that comes in pieces is held back as well. */
  protected get isAwaited(): boolean {
    return this.isWholeOnly;
  }

  /** Whether nothing of it can be streamed. It may be under way as long, and is cut short as a stream is. */
  private get isWholeOnly(): boolean {
    return this.request.client.response.mostWholeBytes !== undefined;
  }

  protected get isIntact(): boolean {
    return !(this.body instanceof RequestBody) || !this.body.destroyed;
  }

  protected get isClientSending(): boolean {
    const { body } = this;
    return body instanceof RequestBody && !body.readableEnded && !body.isHeldByBackend;
  }

  /** Sends it, or lets it wait for a connection. @throws Problem as `Upstream.admit`. */
  start(): void {
    const { idle, firstByte } = this.upstream.config.timeouts;
    const isStreamed = this.withBody && this.request.message.body === undefined;
    this.begin(isStreamed ? idle : firstByte);
  }

  protected connect({ pool, prefix }: Endpoint): void {
    if (this.withBody && this.body === null) this.takeBody(this.request.message);
    this.target = prefix + this.request.path;
    pool.dispatch(this);
  }

  /** Takes the body of the request, which has one, once. */
  protected takeBody(_message: ClientMessage): void {
    this.body = bodyOf(this.request, this.upstream.config.maxBodyBytes, (piece) => this.onBodyProgress(piece));
  }

  protected disconnect(reason: Error, from: CallState): void {
    if (from === CallState.Connecting) this.endpoint?.pool.cancel(this);
    else this.sending?.abort(this, reason);
    this.failed(reason, from, true);
  }

  protected cutShort(): CutKind | undefined {
    if (this.isUploading) {
      this.sending?.endUpload(this);
      return 'upload';
    }
    const isStream = this.isWholeOnly || this.state >= CallState.Streaming;
    const isUpload = !isStream && this.body !== null && !this.request.message.complete;
    if (!isStream && !isUpload) return undefined;
    this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
    return isUpload ? 'upload' : 'answer';
  }

  /** The client sends nothing, or the backend takes nothing: what is lost is not the response. */
  override expire(): void {
    if (this.isUploading && this.state !== CallState.Stalled) this.sending?.endUpload(this);
    else super.expire();
  }

  /** A piece of the request body has arrived. */
  protected onBodyProgress(_piece: Buffer): void {
    if (this.body instanceof RequestBody) this.request.client.bytesIn = this.body.bytes;
    this.deadlineIn(this.upstream.config.timeouts.idle);
  }

  onConnection(sending: Sending): void {
    this.enter(CallState.Sent);
    this.request.client.wasSent = true;
    this.sending = sending;
  }

  /** The whole request has been sent: from here on the backend has to respond, if it has not done so before. */
  onSent(): void {
    if (this.state >= CallState.Held) return;
    const { firstByte } = this.upstream.config.timeouts;
    this.responseIn(this.isHiddenProbe ? Math.min(firstByte, PROBE_TIMEOUT_MS) : firstByte);
  }

  onInterim({ status, lines }: ResponseHead): void {
    if (this.state === CallState.Sent) this.enter(CallState.Announced);
    if (this.interimResponses++ < MOST_INTERIM_RESPONSES) passInterimResponse(this.request, status, lines);
  }

  onHead({ status, lines, framing, contentLength }: ResponseHead): void {
    this.status = status;
    if (status >= 502 && this.isHiddenProbe && verdictOf('answered', status) === 'bad') {
      this.abort(peerError('TRAILGATE_PROBE_FAILED'));
      return;
    }
    // Before anything that can throw: from here on it is not sent again.
    this.enter(status >= 400 ? CallState.Failing : CallState.Held);
    this.deadlineIn(this.upstream.config.timeouts.idle);
    if (this.endpoint?.probe === this) this.upstream.probeAnswered(this, this.endpoint, status);
    if (status >= 400) {
      this.errorResponse = new ErrorResponse(status, fieldsOfLines(lines));
      return;
    }
    const isStream = framing === Framing.Chunked || framing === Framing.Close;
    const { mostHeldBytes, isAwaited } = this;
    const head = responseHead(this.request, lines, this.endpoint, isStream && !isAwaited);
    // What is too large, or whose length nobody tells, may be here as a whole all the same; see `onPartial`.
    const isShort = framing === Framing.Length && contentLength <= mostHeldBytes;
    this.held = new HeldResponse(head, isStream, isAwaited || isShort);
    const mayTrail = isStream && takesTrailers(this.request.message);
    const isOpen = mayTrail || framing === Framing.Close;
    if (isOpen && !isAwaited) this.stream();
  }

  onWhole(body: Buffer): void {
    if (this.errorResponse === undefined) this.held?.add(body);
    else this.errorResponse.add(Buffer.from(body));
  }

  onData(piece: Buffer): void {
    // Whoever waits for the end of an error, or of the whole, waits no longer than this from its head on.
    if (this.errorResponse !== undefined) {
      this.errorResponse.add(Buffer.from(piece));
      if (this.errorResponse.isTooLarge) this.respondWith(this.errorResponse);
      return;
    }
    const { held } = this;
    if (!this.isWholeOnly) this.deadlineIn(this.upstream.config.timeouts.idle);
    if (held !== undefined && (this.isWholeOnly || !held.isLargerThan(this.mostHeldBytes, piece.length))) {
      held.add(Buffer.from(piece));
      if (held.isLargerThan(this.mostHeldBytes)) this.stream();
      return;
    }
    this.stream();
    this.write(piece);
  }

  /** One whose end may be far is not held any longer. */
  onPartial(): void {
    if (this.held?.isAwaited === false) this.stream();
    this.streamed?.flush();
  }

  /** The client has the response at once. Its end waits: until then the connection is not for another request. */
  onAnswered(): void {
    if (this.state >= CallState.Aborting) return;
    this.isUploading = true;
    this.deadlineIn(this.upstream.config.timeouts.idle);
    if (this.held !== undefined && !this.isAwaited) this.stream();
    this.streamed?.flush();
  }

  onEnd(trailerText: string): void {
    this.isUploading = false;
    if (this.state >= CallState.Aborting) return;
    if (this.isUploadCut) this.request.client.onUploadCut();
    if (this.errorResponse !== undefined) {
      this.respondWith(this.errorResponse);
      return;
    }
    const { held } = this;
    const { response } = this.request.client;
    const body = held?.body;
    if (body !== undefined) this.request.client.bytesOut = body.length;
    const isWhole = (this.method !== 'HEAD' || this.isWholeOnly) && response.takesWhole;
    if (held !== undefined && body !== undefined && isWhole) {
      this.end('answered');
      response.writeWhole(this.status, held.wholeLines, body);
      return;
    }
    // Before the call counts as over: whatever this throws comes back as `onError`.
    if (held !== undefined) this.openStream(held.wholeLines, false);
    const { streamed } = this;
    if (trailerText !== '') streamed?.addTrailers(trailerText);
    this.end('answered');
    streamed?.end(body);
  }

  /** The connection has failed it. What we have ended ourselves has failed already. */
  onError(error: Error): void {
    if (this.state < CallState.Aborting) this.failed(error, this.state, false);
  }

  /** Whether a response that is no refusal and no redirect is whole before the body has been passed on. */
  private get isUploadCut(): boolean {
    const { body } = this;
    return this.status < 300 && body instanceof RequestBody && !body.readableEnded;
  }

  /**
   * Whether it tries an ejected target, and its caller need not hear of it should that fail: another one can respond.
   */
  private get isHiddenProbe(): boolean {
    const { endpoint } = this;
    if (endpoint === undefined || endpoint.probe !== this || this.state !== CallState.Sent) return false;
    return this.isRepeatable && this.isRetryLeft && this.upstream.isSpare(endpoint);
  }

  /** Passes on what has been held back, and from now on everything as it comes. */
  protected stream(): void {
    const { held } = this;
    if (held === undefined) return;
    if (this.isWholeOnly) return this.cutWhole(held);
    if (this.barred !== undefined) {
      this.abort(peerError('TRAILGATE_ACCESS_ENDED'));
      return;
    }
    noteStream(this.request.client, this.startedMs);
    const streamed = this.openStream(held.lines, !held.isChunked);
    // Node would hold the head back, and lose it where the response breaks off in this turn.
    if (!streamed.isByHand) streamed.flush();
    for (const piece of held.takePieces()) this.write(piece);
  }

  /** Whoever waits for the whole takes no more: what is left is of no use, and the connection goes with it. */
  private cutWhole(held: HeldResponse): void {
    if (!held.isLargerThan(this.mostHeldBytes)) return;
    this.end('answered');
    this.request.client.response.writeCut?.(this.status, held.lines, held.body);
    this.sending?.abort(this, peerError('TRAILGATE_ENOUGH'));
  }

  private openStream(lines: string, isSized: boolean): StreamedResponse {
    this.held = undefined;
    const head = { status: this.status, lines, isSized };
    this.streamed = new StreamedResponse(this.request, head, () => this.onDrain());
    this.enter(CallState.Streaming);
    return this.streamed;
  }

  private write(piece: Buffer): void {
    const { streamed } = this;
    if (streamed === undefined) return;
    this.request.client.bytesOut += piece.length;
    if (streamed.write(piece) || this.state !== CallState.Streaming) return;
    // The client reads more slowly than the backend writes: stop reading until its connection has room again.
    this.enter(CallState.Stalled);
    this.sending?.pause(this);
  }

  private onDrain(): void {
    if (this.state !== CallState.Stalled) return;
    this.enter(CallState.Streaming);
    this.deadlineIn(this.upstream.config.timeouts.idle);
    this.sending?.resume(this);
  }

  private respondWith(response: ErrorResponse): void {
    const { authenticates, errors } = this.upstream.config;
    this.refusedBy(response.problem(authenticates, errors));
    // Whatever is left of the body is of no use; the connection goes with it.
    if (response.isTooLarge) this.sending?.abort(this, peerError('TRAILGATE_ENOUGH'));
  }

  protected override end(outcome: UpstreamOutcome | undefined): void {
    if (this.body instanceof RequestBody) this.body.destroy();
    super.end(outcome);
  }
}
