/** What would become of a request, by the steps that it would be asked; counts nothing. */
import type { Problem } from '../platform/problems/errors.js';
import type { PreviewedRequest } from './previewed-request.js';
import { requestLineProblem } from './request-line.js';
import { STEPS, type Steps } from './steps.js';

/** What a step finds. */
export interface StepPreview {
  readonly name: keyof Steps;
  /** What it would refuse the request with; undefined where it would let it pass. */
  readonly problem: Problem | undefined;
}

/**
 * Previews a request without an `Idempotency-Key`: what each step finds, in their order. The first that refuses it is
 * what the request is told; where none does its backend would answer, or the gateway itself. Every step is asked, and
 * notes in the request what it finds. Never rejects.
 */
export async function previewSteps(steps: Steps, request: PreviewedRequest): Promise<readonly StepPreview[]> {
  const line = request.operation === undefined ? requestLineProblem(request.method, request.url) : undefined;
  const found: StepPreview[] = [];
  for (const { name, isForKeyed } of STEPS) {
    if (isForKeyed === true) continue;
    const problem = await steps[name].preview(request);
    found.push({ name, problem: name === 'route' ? (line ?? problem) : problem });
  }
  return found;
}
