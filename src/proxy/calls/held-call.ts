/**
 * A call whose response somebody is to have whole before its client has it: it waits until they have kept it, or until
 * that has taken too long. What nobody wants whole, or is too large to be held, goes out as always.
 */
import type { ResponseHead } from '../../http/backend/response-head.js';
import type { Deadlines } from '../targets/deadlines.js';
import type { ForwardRequest } from '../targets/forward-request.js';
import { failedProblem } from '../targets/unavailable.js';
import { upstreamFailure } from '../targets/upstream-errors.js';
import type { Upstream } from '../targets/upstream.js';
import { CallState } from './call-state.js';
import type { HeldResponse } from './held-response.js';
import { HttpCall } from './http-call.js';
import { peerError, RequestBody } from './request-body.js';

/** Of a body that is held for somebody. */
export const MOST_KEPT_BYTES = 64 * 1_024;

/** ResponseKeeper is somebody who is to have a response whole. */
export interface ResponseKeeper {
  /** Whether it wants the response that has this head; told of each below 400. */
  wants(head: ResponseHead): boolean;
  /** It cannot have the response that it wanted: it is too large. @param held what there is of it. */
  misses(held: HeldResponse): void;
  /** Takes the response; calls `done` once, at once or soon. Never throws. */
  keep(status: number, held: HeldResponse, done: () => void): void;
}

const NOBODY: readonly ResponseKeeper[] = [];

/** HeldCall is a call with keepers, who are asked in their order. */
export class HeldCall extends HttpCall {
  /** Those who want the response that has begun. */
  private wanting = NOBODY;
  /** It is being kept: no connection has it any more. */
  protected isBeingKept = false;
  /** Its client has gone, and the backend may have done what it was asked for: what comes of it is kept. */
  protected isLeft = false;

  constructor(
    upstream: Upstream,
    request: ForwardRequest,
    deadlines: Deadlines,
    private readonly keepers: readonly ResponseKeeper[],
  ) {
    super(upstream, request, deadlines);
  }

  protected override get mostHeldBytes(): number {
    return this.isWanted ? MOST_KEPT_BYTES : super.mostHeldBytes;
  }

  protected override get isAwaited(): boolean {
    return this.isWanted || super.isAwaited;
  }

  /** Whether somebody wants the response that has begun. */
  protected get isWanted(): boolean {
    return this.wanting !== NOBODY;
  }

  /** Whether somebody wants an error as well. */
  protected get areErrorsWanted(): boolean {
    return false;
  }

  /** A client that leaves does not undo what it has asked for: the response is waited for, for those who want it. */
  override onClose(): void {
    if (this.isLeft) return;
    if (!this.goesOn) {
      super.onClose();
      return;
    }
    this.isLeft = true;
    const { client } = this.request;
    // As where the call ends with its client: the log says why there is no response, and nothing more comes of it.
    client.closeListener = undefined;
    const error = peerError('TRAILGATE_CLIENT_GONE');
    client.onFailed(failedProblem(upstreamFailure(error), error));
  }

  /** Whether there is, or may be, something to keep without the client. */
  private get goesOn(): boolean {
    const { state, body } = this;
    if (state === CallState.Held) return this.isWanted;
    if (state === CallState.Failing) return this.areErrorsWanted;
    const isSent = state === CallState.Sent || state === CallState.Announced;
    return isSent && (!(body instanceof RequestBody) || body.readableEnded);
  }

  override onInterim(head: ResponseHead): void {
    if (!this.isLeft) super.onInterim(head);
  }

  override onHead(head: ResponseHead): void {
    const isError = head.status >= 400;
    if (!isError) {
      const wanting = this.keepers.filter((keeper) => keeper.wants(head));
      this.wanting = wanting.length === 0 ? NOBODY : wanting;
    }
    if (this.isLeft && !(isError ? this.areErrorsWanted : this.isWanted)) super.onClose();
    else super.onHead(head);
  }

  /** Too large for whoever wanted it. */
  protected override stream(): void {
    const { held, wanting } = this;
    this.wanting = NOBODY;
    if (held !== undefined) for (const keeper of wanting) keeper.misses(held);
    if (this.isLeft) super.onClose();
    else super.stream();
  }

  override onEnd(trailerText: string): void {
    const { held } = this;
    if (!this.isWanted || held === undefined || this.state >= CallState.Aborting) {
      super.onEnd(trailerText);
      return;
    }
    held.keep();
    this.beginKeeping();
    this.keepFrom(0, held);
  }

  /** The backend is done with it; neither its time nor its place is taken by what follows. */
  protected beginKeeping(): void {
    this.leaveTarget('answered');
    this.deadlineMs = Infinity;
    this.isBeingKept = true;
  }

  /** The connection has gone on to other calls: nothing of it comes back here. */
  protected override disconnect(reason: Error, from: CallState): void {
    if (this.isBeingKept) this.failed(reason, from, true);
    else super.disconnect(reason, from);
  }

  override onError(error: Error): void {
    if (!this.isBeingKept) super.onError(error);
  }

  /** Nobody is there to be told, and for nobody it is sent again. */
  protected override failed(error: Error, from: CallState, wasEnded: boolean): void {
    if (this.isLeft) this.end(upstreamFailure(error).outcome);
    else super.failed(error, from, wasEnded);
  }

  private keepFrom(at: number, held: HeldResponse): void {
    const keeper = this.wanting[at];
    if (keeper === undefined) this.onKept();
    else keeper.keep(this.status, held, () => this.keepFrom(at + 1, held));
  }

  private onKept(): void {
    this.isBeingKept = false;
    if (this.state !== CallState.Held) return;
    try {
      if (this.isLeft) this.end('answered');
      else super.onEnd('');
    } catch (error) {
      this.onError(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
