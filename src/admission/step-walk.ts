/**
 * Runs the admission steps of a request in order. For speed, a walk allocates one object per request, and no promise
 * for steps that return a result immediately or use a callback.
 */
import type { ResultReceiver } from '../platform/callbacks.js';
import { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { Step } from './step.js';

/**
 * WalkEnd receives the result of each request. One of the two methods is called once per request. If `admitted` throws,
 * `refused` is called with the error.
 */
export interface WalkEnd<Request extends AdmissionRequest> {
  /** Handles a request that passed all steps. */
  admitted(request: Request): void;
  /**
   * Handles a request that was not admitted.
   * @param reason the problem of the step that refused the request, or an error that a step or `admitted` threw.
   */
  refused(reason: unknown, request: Request): void;
}

export class StepWalk<Request extends AdmissionRequest> {
  constructor(
    private readonly steps: readonly Step[],
    private readonly end: WalkEnd<Request>,
  ) {}

  /** Runs the steps for a request. Calls a method of `WalkEnd` before this method returns, or later. */
  begin(request: Request): void {
    this.resume(new Passage(this, request));
  }

  /** Runs the steps from `passage.next` on. */
  resume(passage: Passage<Request>): void {
    const { steps } = this;
    const { request } = passage;
    try {
      while (passage.next < steps.length) {
        const mayPass = steps[passage.next++]!.check(request, passage);
        if (mayPass === undefined) return;
        if (!mayPass) {
          this.end.refused(refusalOf(request), request);
          return;
        }
      }
      this.end.admitted(request);
    } catch (error) {
      this.end.refused(error, request);
    }
  }

  /** Completes the current step with its late result, and runs the remaining steps. */
  answered(passage: Passage<Request>, late: unknown): void {
    const { request } = passage;
    let mayPass: boolean;
    try {
      mayPass = this.steps[passage.next - 1]!.conclude(request, late);
    } catch (error) {
      this.end.refused(error, request);
      return;
    }
    if (mayPass) this.resume(passage);
    else this.end.refused(refusalOf(request), request);
  }

  /** Refuses a request because its current step failed after waiting. */
  failed(passage: Passage<Request>, error: unknown): void {
    this.end.refused(error, passage.request);
  }
}

/** Passage tracks the next step of a request, and passes late results of steps to the walk. */
class Passage<Request extends AdmissionRequest> implements ResultReceiver<unknown> {
  /** Index of the next step. */
  next = 0;

  constructor(
    private readonly walk: StepWalk<Request>,
    readonly request: Request,
  ) {}

  onResult(late: unknown): void {
    this.walk.answered(this, late);
  }

  onError(error: unknown): void {
    this.walk.failed(this, error);
  }
}

/** Returns the error with which a step refused a request. If the step set no error, which is a bug, returns a 500. */
function refusalOf({ refusal }: AdmissionRequest): Problem {
  return refusal ?? new Problem('internal_error');
}
