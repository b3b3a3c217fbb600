/** Previews how the admission steps would treat a request. Counts nothing. Used by `explain`. */
import type { Problem } from '../platform/problems/errors.js';
import type { PreviewedRequest } from './previewed-request.js';
import { requestLineProblem } from './request-line.js';
import { STEPS, type Steps } from './steps.js';

/** StepPreview is the result of one step. */
export interface StepPreview {
  readonly name: keyof Steps;
  /** The error with which the step would refuse the request. Undefined if it would pass. */
  readonly problem: Problem | undefined;
}

/**
 * Previews a request without an `Idempotency-Key`. Never rejects.
 * @param request also receives results of the steps, such as its operation.
 * @returns the results of all steps in order, including those after a refusal. The response would be the first problem.
 */
export async function previewSteps(steps: Steps, request: PreviewedRequest): Promise<readonly StepPreview[]> {
  const lineProblem = request.operation === undefined ? requestLineProblem(request.method, request.url) : undefined;
  const found: StepPreview[] = [];
  for (const { name, isForKeyed } of STEPS) {
    if (isForKeyed === true) continue;
    const problem = await steps[name].preview(request);
    found.push({ name, problem: name === 'route' ? (lineProblem ?? problem) : problem });
  }
  return found;
}
