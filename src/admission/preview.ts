/** Previews the admission steps for a hypothetical request, without counting it. Used by `explain`. */
import type { Problem } from '../platform/problems/errors.js';
import type { PreviewedRequest } from './previewed-request.js';
import { requestLineProblem } from './request-line.js';
import type { AcceptedHosts } from './requested-host.js';
import { STEPS, type Steps } from './steps.js';

/** StepPreview is the result of one step for a previewed request. */
export interface StepPreview {
  readonly name: keyof Steps;
  /** Error with which the step would refuse the request. Undefined if the request would pass. */
  readonly problem: Problem | undefined;
}

/**
 * Previews all steps except the idempotency step, because a preview has no `Idempotency-Key`. Never rejects.
 * @param hosts accepted host names. Requests for other hosts are refused before the first step.
 * @param request also receives results of the steps, such as its operation.
 * @returns the results of the steps in order, including the steps after a refusal. A client would receive the first
 *   problem.
 */
export async function previewSteps(
  steps: Steps,
  hosts: AcceptedHosts,
  request: PreviewedRequest,
): Promise<readonly StepPreview[]> {
  const entranceProblem = request.operation === undefined ? entranceProblemOf(hosts, request) : undefined;
  const found: StepPreview[] = [];
  for (const { name, isForKeyed } of STEPS) {
    if (isForKeyed === true) continue;
    const problem = await steps[name].preview(request);
    found.push({ name, problem: name === 'route' ? (entranceProblem ?? problem) : problem });
  }
  return found;
}

/** Returns the error with which the entrance would refuse the request before the first step, or undefined. */
function entranceProblemOf(hosts: AcceptedHosts, { method, url, message }: PreviewedRequest): Problem | undefined {
  return requestLineProblem(method, url) ?? hosts.problemOf(message);
}
