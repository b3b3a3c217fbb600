/** Interface of the admission steps. */
import type { Waiting } from '../platform/waiting.js';
import type { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { PreviewedRequest } from './previewed-request.js';

/**
 * Step is a check that runs before a request is forwarded; `steps.ts` lists the steps. A step depends only on
 * `AdmissionRequest`, so that every protocol can use it. To refuse a request, it returns false and sets `refusal`. It
 * throws unexpected errors.
 */
export interface Step<Late = unknown> {
  /**
   * Runs the check. Returns whether the request passes. Returns undefined if `waiting` will receive a late result for
   * `conclude`.
   */
  check(request: AdmissionRequest, waiting: Waiting<Late>): boolean | undefined;
  /** Completes the check with the late result. Returns whether the request passes. */
  conclude(request: AdmissionRequest, late: Late): boolean;
  /**
   * Returns the error with which the step would refuse the request, or undefined. Counts nothing and has no side
   * effects outside the request. Runs for every step, even after a refusal. Never rejects.
   */
  preview(request: PreviewedRequest): Problem | undefined | Promise<Problem | undefined>;
}
