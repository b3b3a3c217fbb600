/**
 * Implements the life cycle of a call to a backend: start, send, retry, end. `HttpCall` and `WebSocketCall` extend this
 * class. Only this class acquires and releases the resources of a call: queue position, slot at a target, deadline,
 * listener.
 */
import type { Problem } from '../../platform/problems/errors.js';
import type { Deadlines, Expiring } from '../targets/deadlines.js';
import type { Endpoint } from '../targets/endpoint.js';
import type { CloseListener, ForwardRequest } from '../targets/forward-request.js';
import type { CutKind, PendingCall } from '../targets/pending-call.js';
import { mayRetry, withoutAutomaticRetry } from '../targets/retry-rules.js';
import { failedProblem } from '../targets/call-problems.js';
import { upstreamFailure, type UpstreamFailure, type UpstreamOutcome } from '../targets/upstream-errors.js';
import type { Upstream } from '../targets/upstream.js';
import { CallState, checkTransition } from './call-state.js';
import { peerError } from './request-body.js';

export abstract class BackendCall implements PendingCall, Expiring, CloseListener {
  // `Upstream` owns these fields; see `PendingCall`.
  endpoint: Endpoint | undefined;
  activeSlot = -1;
  isWaiting = false;
  nextWaiting: PendingCall | undefined;
  previousWaiting: PendingCall | undefined;

  // `Deadlines` owns these fields; see `Expiring`.
  deadlineMs = Infinity;
  deadlineSlot = -1;

  abstract readonly method: string;
  abstract readonly isRepeatable: boolean;
  /** Current state. Only `changeState` changes this field. */
  protected state = CallState.Waiting;
  /** Status of the response; 0 before the response arrives. */
  status = 0;
  /** Start of the latest attempt, by `performance.now()`. */
  protected startedMs = performance.now();
  /**
   * Problem of a caller whose API key became invalid during the call; otherwise undefined. The response must then not
   * be streamed.
   */
  protected revocation: Problem | undefined;
  private retries = 0;
  /** Deadline that `begin` set, by `performance.now()`. Retries must also meet this deadline. */
  private firstDeadlineMs = Infinity;

  constructor(
    protected readonly upstream: Upstream,
    readonly request: ForwardRequest,
    private readonly deadlines: Deadlines,
  ) {}

  /** Maximum number of retries. */
  protected abstract readonly mostRetries: number;
  /** Whether the complete request can still be sent again. */
  protected abstract readonly isIntact: boolean;
  /** Whether the call is waiting for the client's body rather than for the backend. */
  protected abstract readonly isClientSending: boolean;

  /**
   * Hands the call to a connection of the endpoint. Implementations call `enter(Sent)` once a connection has the call,
   * and set `client.wasSent` before the first write.
   */
  protected abstract connect(endpoint: Endpoint): void;

  /**
   * Removes the call from its connection, or from the queue for a connection. The connection is closed. Implementations
   * call `handleFailure`, immediately or later.
   */
  protected abstract disconnect(reason: Error, from: CallState): void;

  /** Cuts a stream or an upload in progress after the caller's API key became invalid; see `revokeAccess`. */
  protected abstract endStreamOrUpload(): CutKind | undefined;

  get accountId(): string {
    return this.request.accountId;
  }

  get isMovable(): boolean {
    const { state } = this;
    return this.isRetryLeft && (state === CallState.Connecting || (state === CallState.Sent && this.isRepeatable));
  }

  protected get isRetryLeft(): boolean {
    return this.retries < this.mostRetries && this.deadlines.nowMs < this.firstDeadlineMs;
  }

  /**
   * Sends or queues the call, and starts to watch the client's connection and the deadline.
   * @param timeoutMs time for the first step after connecting: the next part of the upload, or the response.
   * @throws Problem for the reasons of `Upstream.admit`.
   */
  protected begin(timeoutMs: number): void {
    const endpoint = this.upstream.admit(this);
    this.deadlineIn(this.upstream.config.timeouts.connect + timeoutMs);
    this.firstDeadlineMs = this.deadlineMs;
    this.deadlines.add(this);
    this.request.client.closeListener = this;
    if (endpoint !== undefined) this.send(endpoint);
  }

  send(endpoint: Endpoint): void {
    this.changeState(CallState.Connecting);
    this.connect(endpoint);
  }

  moveToOtherTarget(): void {
    this.abort(peerError('TRAILGATE_TARGET_LOST'));
  }

  refuse(problem: Problem): void {
    this.end(undefined);
    this.request.client.onFailed(problem);
  }

  revokeAccess(problem: Problem): CutKind | undefined {
    this.revocation = problem;
    if (this.state === CallState.Waiting) {
      this.refuse(problem);
      return undefined;
    }
    return this.state < CallState.Aborting ? this.endStreamOrUpload() : undefined;
  }

  /**
   * Ends the call after its deadline. The wait in the queue was too long, or the backend or the client was too slow.
   */
  expire(): void {
    const { state } = this;
    if (state === CallState.Waiting) this.refuse(this.upstream.queueTimeoutProblem(this));
    else if (state === CallState.Stalled) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else if (state >= CallState.Held) this.abort(peerError('TRAILGATE_IDLE_TIMEOUT'));
    else if (this.isClientSending) this.abort(peerError('TRAILGATE_CLIENT_TOO_SLOW'));
    else this.abort(peerError('TRAILGATE_FIRST_BYTE_TIMEOUT'));
  }

  /** Aborts the call because the client's connection has closed. */
  onClose(): void {
    this.abort(peerError('TRAILGATE_CLIENT_GONE'));
  }

  /** Aborts the call. No effect if the call is already ending. */
  protected abort(reason: Error): void {
    const from = this.state;
    if (from >= CallState.Aborting) return;
    this.changeState(CallState.Aborting);
    this.deadlineMs = Infinity;
    if (from === CallState.Waiting) this.handleFailure(reason, from, true);
    else this.disconnect(reason, from);
  }

  /**
   * Handles a failure. Retries the call if that is safe. Otherwise reports the failure to the client.
   * @param from state in which the call failed.
   * @param wasAborted whether the gateway aborted the call itself.
   */
  protected handleFailure(error: Error, from: CallState, wasAborted: boolean): void {
    const failure = upstreamFailure(error);
    if (from >= CallState.Streaming) {
      // The partial response must not look complete. Send no last chunk, and cut the connection.
      this.end(wasAborted ? failure.outcome : 'body_broken_off');
      cutResponse(this.request);
      return;
    }
    const { client } = this.request;
    const target = this.endpoint?.target ?? '';
    if (this.retry(failure, from, wasAborted)) return;
    client.failedTarget = target;
    this.end(failure.outcome);
    if (this.revocation !== undefined && failure.outcome === 'access_ended') client.onFailed(this.revocation);
    else this.reportProblem(failedProblem(failure, error), from >= CallState.Sent);
  }

  /** Ends the call and sends the client the problem for the backend's error response. */
  protected endWithError(problem: Problem): void {
    this.recordRefusal();
    this.endRefused(withoutAutomaticRetry(problem, this.method));
  }

  /** Records the target and the status of an error response. Call this before the target is released. */
  protected recordRefusal(): void {
    const { client } = this.request;
    client.failedTarget = this.endpoint?.target ?? '';
    client.failedStatus = this.status;
  }

  /** Ends a call whose backend responded, and reports the problem to the client. */
  protected endRefused(problem: Problem): void {
    this.end('answered');
    this.request.client.onFailed(problem);
  }

  /** Reports a problem to the client. @param wasSent whether a connection had the call. */
  private reportProblem(problem: Problem, wasSent: boolean): void {
    this.request.client.onFailed(wasSent ? withoutAutomaticRetry(problem, this.method) : problem);
  }

  /** Retries the call if that is safe and a target is available. Returns whether the call was sent again. */
  private retry(failure: UpstreamFailure, from: CallState, wasAborted: boolean): boolean {
    const { endpoint, upstream } = this;
    if (endpoint === undefined || from >= CallState.Announced || !this.isRetryLeft || !this.isIntact) return false;
    const wasConnected = from === CallState.Sent;
    const isProbe = endpoint.probe === this;
    const isSpareProbe = isProbe && upstream.isAvailable;
    if (!mayRetry(failure.outcome, wasConnected, this.isRepeatable, isSpareProbe, wasAborted)) return false;
    // Release the target before the next one is chosen, because this failure may eject the current target.
    this.leaveTarget(failure.outcome);
    const next = upstream.bookRetry(this, endpoint, wasConnected && this.retries === 0, isProbe);
    if (next === undefined) return false;
    this.retries++;
    this.status = 0;
    this.startedMs = performance.now();
    this.deadlineMs = this.firstDeadlineMs;
    this.send(next);
    return true;
  }

  /** Releases all resources of the call. @param outcome undefined if the call was never sent. */
  protected end(outcome: UpstreamOutcome | undefined): void {
    this.changeState(CallState.Ended);
    this.deadlines.remove(this);
    this.request.client.closeListener = undefined;
    if (this.isWaiting) this.upstream.removeWaiting(this);
    else if (outcome !== undefined) this.leaveTarget(outcome);
    if (this.retries > 0) this.upstream.metrics.countRetry(outcome === 'answered' ? 'answered' : 'failed');
  }

  /** Releases the slot at the target and records the outcome. No effect if the slot was already released. */
  protected leaveTarget(outcome: UpstreamOutcome): void {
    // A retry that found no other target, or `beginRecording`, has already released the slot.
    if (this.endpoint === undefined) return;
    const durationMs = performance.now() - this.startedMs;
    const { client } = this.request;
    client.upstreamMs = this.retries === 0 ? durationMs : client.upstreamMs + durationMs;
    this.upstream.release(this, outcome, this.status, durationMs);
  }

  /** Changes the state. @throws Error for an invalid transition, which is a bug. */
  protected changeState(state: CallState): void {
    this.state = checkTransition(this.state, state);
  }

  protected deadlineIn(timeoutMs: number): void {
    this.deadlineMs = this.deadlines.deadlineAfter(timeoutMs);
  }

  /** Sets the deadline for the response to `timeoutMs` from now. A retry must also meet `firstDeadlineMs`. */
  protected responseIn(timeoutMs: number): void {
    this.deadlineIn(timeoutMs);
    if (this.retries > 0) this.deadlineMs = Math.min(this.deadlineMs, this.firstDeadlineMs);
  }
}

/**
 * Cuts off a response so that it does not look complete. An HTTP/1.0 response ends with its connection, so without TLS
 * only a TCP reset signals the failure.
 */
function cutResponse({ message, client }: ForwardRequest): void {
  const { socket } = message;
  if (message.httpVersion === '1.0' && !('encrypted' in socket)) socket.resetAndDestroy();
  client.response.destroy();
}
