/** Defines the interface of the admission steps. */
import type { ResultReceiver } from '../platform/callbacks.js';
import type { Problem } from '../platform/problems/errors.js';
import type { AdmissionRequest } from './admission-request.js';
import type { PreviewedRequest } from './previewed-request.js';

/**
 * Step checks requests before they are forwarded. `steps.ts` lists the steps. A step depends only on
 * `AdmissionRequest`, so that every protocol can use it. To refuse a request, a step sets `refusal` and returns false.
 * Unexpected errors are thrown.
 */
export interface Step<Late = unknown> {
  /**
   * Checks a request.
   * @param waiting receives the late result for `conclude`, or an error, if `check` returns undefined.
   * @returns whether the request passes. Undefined if the result is not available yet.
   */
  check(request: AdmissionRequest, waiting: ResultReceiver<Late>): boolean | undefined;
  /** Completes the check with its late result. Returns whether the request passes. */
  conclude(request: AdmissionRequest, late: Late): boolean;
  /**
   * Returns the error with which the step would refuse a request, or undefined. Counts nothing, and changes nothing but
   * the request. Runs for every step, even after an earlier step would refuse. Never rejects.
   */
  preview(request: PreviewedRequest): Problem | undefined | Promise<Problem | undefined>;
}
