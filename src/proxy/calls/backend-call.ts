/**
 * The life of a call to a backend, whatever it carries: begun, sent, sent again, ended. What it holds meanwhile (a
 * place in the line or at a target, a deadline, the ear of the client's connection) it holds and gives back here alone.
 */
import type { Problem } from '../../platform/problems/errors.js';
import type { Deadlines, Expiring } from '../targets/deadlines.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { CloseListener, ForwardRequest } from '../targets/forward-request.js';
import type { CutKind, PendingCall } from '../targets/pending-call.js';
import { mayRetry, toldAfterSending } from '../targets/retry-rules.js';
import { failedProblem } from '../targets/unavailable.js';
import { upstreamFailure, type UpstreamFailure, type UpstreamOutcome } from '../targets/upstream-errors.js';
import type { Upstream } from '../targets/upstream.js';
import { CallState, follow } from './call-state.js';
import { peerError } from './request-body.js';

export abstract class BackendCall implements PendingCall, Expiring, CloseListener {
  // Of `Upstream`; see `PendingCall`.
  endpoint: Endpoint | undefined;
  activeSlot = -1;
  isWaiting = false;
  nextWaiting: PendingCall | undefined;
  previousWaiting: PendingCall | undefined;

  // Of `Deadlines`; see `Expiring`.
  deadlineMs = Infinity;
  deadlineSlot = -1;

  abstract readonly method: string;
  abstract readonly isRepeatable: boolean;
  /** Changed by `enter` alone. */
  protected state = CallState.Waiting;
  /** Of the response; 0: none has come. */
  status = 0;
  /** When it was begun, or sent again. */
  protected startedMs = performance.now();
  /** Why its caller may not ask any more: it may not become a stream. */
  protected barred: Problem | undefined;
  private retries = 0;
  /** When a retry must have its response. */
  private responseDueMs = Infinity;

  constructor(
    protected readonly upstream: Upstream,
    readonly request: ForwardRequest,
    private readonly deadlines: Deadlines,
  ) {}

  /** How often it may be sent again. */
  protected abstract readonly mostRetries: number;
  /** Whether all that was to be sent is still there. */
  protected abstract readonly isIntact: boolean;
  /** Whether the next byte is to come from the client, and not from the backend. */
  protected abstract readonly isClientSending: boolean;

  /** Hands it to a connection of the endpoint; `enter(Sent)` when one has it, and `wasSent` before it is written to. */
  protected abstract connect(endpoint: Endpoint): void;

  /**
   * Takes it from the connection that it has or waits for, for which it then is a failure: calls `failed`, at once or
   * later.
   */
  protected abstract disconnect(reason: Error, from: CallState): void;

  /** Ends what may not go on without its caller's key; see `bar`. */
  protected abstract cutShort(): CutKind | undefined;

  get accountId(): string {
    return this.request.accountId;
  }

  get isMovable(): boolean {
    const { state } = this;
    return this.isRetryLeft && (state === CallState.Connecting || (state === CallState.Sent && this.isRepeatable));
  }

  protected get isRetryLeft(): boolean {
    return this.retries < this.mostRetries && this.deadlines.nowMs < this.responseDueMs;
  }

  /**
   * Sends it, or lets it wait for a connection; begins to watch the client and the clock.
   * @param timeoutMs for its first step on a connection, which has to open before.
   * @throws Problem as `Upstream.admit`.
   */
  protected begin(timeoutMs: number): void {
    const endpoint = this.upstream.admit(this);
    this.deadlineIn(this.upstream.config.timeouts.connect + timeoutMs);
    this.responseDueMs = this.deadlineMs;
    this.deadlines.add(this);
    this.request.client.closeListener = this;
    if (endpoint !== undefined) this.send(endpoint);
  }

  send(endpoint: Endpoint): void {
    this.enter(CallState.Connecting);
    this.connect(endpoint);
  }

  move(): void {
    this.abort(peerError('TRAILGATE_TARGET_LOST'));
  }

  refuse(problem: Problem): void {
    this.end(undefined);
    this.request.client.onFailed(problem);
  }

  bar(problem: Problem): CutKind | undefined {
    this.barred = problem;
    if (this.state === CallState.Waiting) {
      this.refuse(problem);
      return undefined;
    }
    return this.state < CallState.Aborting ? this.cutShort() : undefined;
  }

  /** The deadline has passed: the backend is too slow, or the client is, in sending or in reading. */
  expire(): void {
    const { state } = this;
    if (state === CallState.Waiting) this.refuse(this.upstream.waitedInVain(this));
    else if (state === CallState.Stalled) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else if (state >= CallState.Held) this.abort(peerError('TRAILGATE_IDLE_TIMEOUT'));
    else if (this.isClientSending) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else this.abort(peerError('TRAILGATE_FIRST_BYTE_TIMEOUT'));
  }

  /** The client's connection is done with the response, or gone; it tells until the call has ended. */
  onClose(): void {
    this.abort(peerError('TRAILGATE_CLIENT_GONE'));
  }

  /** Ends it by ourselves. What is ending already has its reason. */
  protected abort(reason: Error): void {
    const from = this.state;
    if (from >= CallState.Aborting) return;
    this.enter(CallState.Aborting);
    this.deadlineMs = Infinity;
    if (from === CallState.Waiting) this.failed(reason, from, true);
    else this.disconnect(reason, from);
  }

  /**
   * It has come to nothing: it is sent again where that may be, else its client is told.
   * @param from where it stood.
   * @param wasEnded we have ended it ourselves.
   */
  protected failed(error: Error, from: CallState, wasEnded: boolean): void {
    const failure = upstreamFailure(error);
    if (from >= CallState.Streaming) {
      // What went out so far must not look complete: no last chunk, no matching length, the connection is cut.
      this.end(wasEnded ? failure.outcome : 'body_broken_off');
      cutResponse(this.request);
      return;
    }
    const { client } = this.request;
    const target = this.endpoint?.target ?? '';
    if (this.retry(failure, from, wasEnded)) return;
    client.failedTarget = target;
    this.end(failure.outcome);
    if (this.barred !== undefined && failure.outcome === 'access_ended') client.onFailed(this.barred);
    else this.tell(failedProblem(failure, error), from >= CallState.Sent);
  }

  /** The backend has responded with an error, or with what is one here: its caller is told of that. */
  protected refusedBy(problem: Problem): void {
    this.noteRefusal();
    this.endRefused(toldAfterSending(problem, this.method));
  }

  /** Notes who has refused it, while that is known. */
  protected noteRefusal(): void {
    const { client } = this.request;
    client.failedTarget = this.endpoint?.target ?? '';
    client.failedStatus = this.status;
  }

  /** Ends it, and tells its caller why. */
  protected endRefused(problem: Problem): void {
    this.end('answered');
    this.request.client.onFailed(problem);
  }

  /** @param wasSent it stood on a connection. */
  private tell(problem: Problem, wasSent: boolean): void {
    this.request.client.onFailed(wasSent ? toldAfterSending(problem, this.method) : problem);
  }

  /** Sends it once more where that is safe and there is somewhere to send it. Whether it does. */
  private retry(failure: UpstreamFailure, from: CallState, wasEnded: boolean): boolean {
    const { endpoint, upstream } = this;
    if (endpoint === undefined || from >= CallState.Announced || !this.isRetryLeft || !this.isIntact) return false;
    const wasOpened = from === CallState.Sent;
    const isProbe = endpoint.probe === this;
    const isSpare = isProbe && upstream.isAvailable;
    if (!mayRetry(failure.outcome, wasOpened, this.isRepeatable, isSpare, wasEnded)) return false;
    // Before the choice: this failure may be the one that takes the target out.
    this.leaveTarget(failure.outcome);
    const next = upstream.retry(this, endpoint, wasOpened && this.retries === 0, isProbe);
    if (next === undefined) return false;
    this.retries++;
    this.status = 0;
    this.startedMs = performance.now();
    this.deadlineMs = this.responseDueMs;
    this.send(next);
    return true;
  }

  /** Gives back all that it holds. @param outcome undefined: it was never sent. */
  protected end(outcome: UpstreamOutcome | undefined): void {
    this.enter(CallState.Ended);
    this.deadlines.remove(this);
    this.request.client.closeListener = undefined;
    if (this.isWaiting) this.upstream.leave(this);
    else if (outcome !== undefined) this.leaveTarget(outcome);
    if (this.retries > 0) this.upstream.metrics.retry(outcome === 'answered' ? 'answered' : 'failed');
  }

  /** Gives its place at the target back, once. */
  protected leaveTarget(outcome: UpstreamOutcome): void {
    // Already, when it failed and could not be sent once more.
    if (this.endpoint === undefined) return;
    const durationMs = performance.now() - this.startedMs;
    const { client } = this.request;
    client.upstreamMs = this.retries === 0 ? durationMs : client.upstreamMs + durationMs;
    this.upstream.release(this, outcome, this.status, durationMs);
  }

  /** The one place where the state changes. @throws where the way of a call does not lead there. */
  protected enter(state: CallState): void {
    this.state = follow(this.state, state);
  }

  protected deadlineIn(timeoutMs: number): void {
    this.deadlineMs = this.deadlines.after(timeoutMs);
  }

  /** Likewise for its response, of which a retry must not take longer than the first attempt might have. */
  protected responseIn(timeoutMs: number): void {
    this.deadlineIn(timeoutMs);
    if (this.retries > 0) this.deadlineMs = Math.min(this.deadlineMs, this.responseDueMs);
  }
}

/**
 * Cuts a response off so that it cannot look whole: one to HTTP/1.0 ends with its connection, and only a reset tells.
 */
function cutResponse({ message, client }: ForwardRequest): void {
  const { socket } = message;
  if (message.httpVersion === '1.0' && !('encrypted' in socket)) socket.resetAndDestroy();
  client.response.destroy();
}
