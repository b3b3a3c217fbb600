/**
 * What a step of the request path is: asked by a request, concluded when its verdict comes later, and
 * previewed for whoever explains.
 */
import type { Waiting } from '../platform/waiting.js';
import type { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { PreviewedRequest } from './previewed-request.js';

/**
 * Step is one thing that every request is asked before it is forwarded; `steps.ts` lists them. A step looks at
 * `AdmissionRequest` and at nothing else, so that every plane can ask the same. It says no by `false`, with the reason
 * in `refusal`; what fails is thrown.
 */
export interface Step<Late = unknown> {
  /** Asks whether the request may go on; undefined: `waiting` is told later what to `conclude` from. */
  ask(request: AdmissionRequest, waiting: Waiting<Late>): boolean | undefined;
  /** Concludes from what came late whether the request may go on. */
  conclude(request: AdmissionRequest, late: Late): boolean;
  /**
   * Previews what the step would refuse a request with; undefined where it would let it pass. Counts nothing, and
   * leaves no trace. Asked of every step, also behind one that refuses: what it finds is told as well. Never rejects.
   */
  preview(request: PreviewedRequest): Problem | undefined | Promise<Problem | undefined>;
}
