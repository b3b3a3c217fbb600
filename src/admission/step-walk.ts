/**
 * How a request goes through the steps: one after the other, once, and to its backend behind the last of them. It takes
 * one object here, and no promise where a step says at once or by callback.
 */
import type { Waiting } from '../platform/waiting.js';
import { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { Step } from './step.js';

/** WalkEnd is told what became of each request, once. */
export interface WalkEnd<Request extends AdmissionRequest> {
  /** Every step has let it pass. What this throws refuses the request. */
  admitted(request: Request): void;
  /** A step said no, or something failed. */
  refused(reason: unknown, request: Request): void;
}

/** StepWalk leads requests through the steps. */
export class StepWalk<Request extends AdmissionRequest> {
  constructor(
    private readonly steps: readonly Step[],
    private readonly end: WalkEnd<Request>,
  ) {}

  /** Leads a request through. It is admitted or refused, now or later. */
  begin(request: Request): void {
    this.goOn(new Passage(this, request));
  }

  /** Asks the steps from the next one on. */
  goOn(passage: Passage<Request>): void {
    const { steps } = this;
    const { request } = passage;
    try {
      while (passage.next < steps.length) {
        const mayPass = steps[passage.next++]!.ask(request, passage);
        if (mayPass === undefined) return;
        if (!mayPass) {
          this.end.refused(whyNot(request), request);
          return;
        }
      }
      this.end.admitted(request);
    } catch (error) {
      this.end.refused(error, request);
    }
  }

  /** A step has what it let a request wait for. */
  answered(passage: Passage<Request>, late: unknown): void {
    const { request } = passage;
    let mayPass: boolean;
    try {
      mayPass = this.steps[passage.next - 1]!.conclude(request, late);
    } catch (error) {
      this.end.refused(error, request);
      return;
    }
    if (mayPass) this.goOn(passage);
    else this.end.refused(whyNot(request), request);
  }

  failed(passage: Passage<Request>, error: unknown): void {
    this.end.refused(error, passage.request);
  }
}

/** A request among the steps: how far it has come, and who waits for those that say later. */
class Passage<Request extends AdmissionRequest> implements Waiting<unknown> {
  /** Which step is asked next. */
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

/** Why a step said no: it says so itself, or it stands in the wrong place. */
function whyNot({ refusal }: AdmissionRequest): Problem {
  return refusal ?? new Problem('internal_error');
}
