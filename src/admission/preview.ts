/** What would become of a request, by the steps that it would be asked; counts nothing. */
import type { Problem } from '../problems/errors.js';
import type { PreviewedRequest } from './previewed-request.js';
import { requestLineProblem } from './request-line.js';
import type { Step } from './step.js';

/**
 * Previews a request: what it would be refused with, by the first that refuses it; undefined: its backend would answer,
 * or the gateway itself. Every step is asked, and notes in the request what it finds. Never rejects.
 */
export async function previewSteps(steps: readonly Step[], request: PreviewedRequest): Promise<Problem | undefined> {
  let first = request.operation === undefined ? requestLineProblem(request.method, request.url) : undefined;
  for (const step of steps) {
    const problem = await step.preview(request);
    first ??= problem;
  }
  return first;
}
