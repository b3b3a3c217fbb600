/**
 * Runs the admission steps of a request in order. To be fast, it allocates one object per request, and no promises for
 * steps that return immediately or use a callback.
 */
import type { Waiting } from '../platform/waiting.js';
import { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { Step } from './step.js';

/** WalkEnd receives the result of each request. Exactly one method is called per request. */
export interface WalkEnd<Request extends AdmissionRequest> {
  /** Handles a request that passed all steps. If it throws, the request is refused with the error. */
  admitted(request: Request): void;
  /** Handles a request that a step refused, or for which a step failed. */
  refused(reason: unknown, request: Request): void;
}

export class StepWalk<Request extends AdmissionRequest> {
  constructor(
    private readonly steps: readonly Step[],
    private readonly end: WalkEnd<Request>,
  ) {}

  /** Runs the steps. Calls `WalkEnd` before this method returns, or later. */
  begin(request: Request): void {
    this.resume(new Passage(this, request));
  }

  /** Runs the remaining steps. */
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

  /** Continues with the late result of a step that had to wait. */
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

  /** Refuses a request because a step failed after waiting. */
  failed(passage: Passage<Request>, error: unknown): void {
    this.end.refused(error, passage.request);
  }
}

/** Passage is a request on its way through the steps. It receives the late results of steps. */
class Passage<Request extends AdmissionRequest> implements Waiting<unknown> {
  /** Index of the next step. */
  next = 0;

  constructor(
    private readonly walk: StepWalk<Request>,
    readonly request: Request,
  ) {}

  answered(late: unknown): void {
    this.walk.answered(this, late);
  }

  failed(error: unknown): void {
    this.walk.failed(this, error);
  }
}

/**
 * Returns the error with which a step refused a request. A step that refuses without an error is a fault, and becomes a
 * 500.
 */
function refusalOf({ refusal }: AdmissionRequest): Problem {
  return refusal ?? new Problem('internal_error');
}
