/** Step 3 of 5: scopes. Refuses with 403 if the key lacks scopes of the operation, and lists the missing scopes. */
import { scopeProblem } from '../keys/scope-problem.js';
import type { Problem } from '../platform/problems/errors.js';
import { valueOrLater, type ResultReceiver } from '../platform/callbacks.js';
import type { UsageRecorder } from '../quota/usage/usage-recorder.js';
import type { AdmissionRequest } from './admission-request.js';
import type { QuotaReport } from './quota-report.js';
import type { PreviewedRequest } from './previewed-request.js';
import type { Step } from './step.js';

interface ScopeParts {
  readonly quotaReport: QuotaReport;
  readonly recorder: UsageRecorder;
}

/**
 * ScopeStep checks whether the key has all scopes of the operation. The step waits only if it must read the quota
 * headers for a refusal.
 */
export class ScopeStep implements Step<false> {
  private readonly report: QuotaReport;
  private readonly recorder: UsageRecorder;

  constructor({ quotaReport, recorder }: ScopeParts) {
    this.report = quotaReport;
    this.recorder = recorder;
  }

  check(request: AdmissionRequest, waiting: ResultReceiver<false>): boolean | undefined {
    const { key, operation } = request;
    // Both are set unless the steps run in the wrong order. Refuse by default.
    if (key === undefined || operation === undefined) return false;
    if (key.scopeSet.allows(operation)) return true;
    if (request.subject !== undefined) this.recorder.recordDenied(request.subject, operation);
    request.refusal = scopeProblem(key.scopeSet.scopes, operation.scopes);
    const report = this.report.repeatTo(request);
    return report === undefined ? false : valueOrLater(report.then(returnFalse), waiting);
  }

  conclude(): false {
    return false;
  }

  preview({ key: { scopeSet }, operation }: PreviewedRequest): Problem | undefined {
    if (operation === undefined || scopeSet.allows(operation)) return undefined;
    return scopeProblem(scopeSet.scopes, operation.scopes);
  }
}

function returnFalse(): false {
  return false;
}
