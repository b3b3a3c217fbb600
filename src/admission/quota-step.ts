/**
 * Step 5 of 5: quotas. One decision covers all windows of the key and its account, and only admitted requests are
 * counted. Refuses with 429 if a limit is exceeded. Refuses with 503 if the plan is not configured, or if the counters
 * are unavailable and the plan admits no requests without them.
 */
import type { Operation } from '../config/model/schema.js';
import type { ApiKeyRecord } from '../keys/api-key.js';
import { quotaLines } from '../quota/model/headers.js';
import { policyNames, type QuotaDecision } from '../quota/model/policies.js';
import { quotaProblem } from '../quota/model/refusal.js';
import type { QuotaSubject } from '../quota/model/subject.js';
import type { Limiter } from '../quota/limiter.js';
import { METRICS, type ValueSeries } from '../platform/metrics.js';
import type { ResultReceiver } from '../platform/callbacks.js';
import { Problem } from '../platform/problems/errors.js';
import type { UsageRecorder } from '../quota/usage/usage-recorder.js';
import type { AdmissionRequest } from './admission-request.js';
import type { PreviewedRequest } from './previewed-request.js';
import type { Step } from './step.js';

interface QuotaParts {
  readonly quotas: Limiter;
  readonly recorder: UsageRecorder;
}

/**
 * QuotaStep decides whether the quotas admit a request, and counts admitted requests. The step waits if the counters
 * are not in this process.
 */
export class QuotaStep implements Step<QuotaDecision> {
  private readonly quotas: Limiter;
  private readonly recorder: UsageRecorder;
  private readonly admitted = new Map<string, ValueSeries>();
  /** Series of refusals, by plan and by the bits of `QuotaDecision.violated`. */
  private readonly refused = new Map<string, (readonly ValueSeries[] | undefined)[]>();

  constructor({ quotas, recorder }: QuotaParts) {
    this.quotas = quotas;
    this.recorder = recorder;
  }

  check(request: AdmissionRequest, waiting: ResultReceiver<QuotaDecision>): boolean | undefined {
    const { subject, operation } = request;
    if (operation === undefined) return false;
    // A replay is free, because the first request was counted.
    if (request.keyed?.isReplay === true) return true;
    if (subject === undefined) throw unknownPlan(request.key?.record);
    const decision = this.quotas.decideFor(waiting, subject, operation.cost);
    return decision === undefined ? undefined : this.apply(request, subject, operation, decision);
  }

  conclude(request: AdmissionRequest, decision: QuotaDecision): boolean {
    const { subject, operation } = request;
    if (operation === undefined || subject === undefined) return false;
    return this.apply(request, subject, operation, decision);
  }

  async preview(request: PreviewedRequest): Promise<Problem | undefined> {
    const { operation, key } = request;
    const { subject } = key;
    if (subject === undefined) return operation === undefined ? undefined : unknownPlan(key.record);
    try {
      const { decision, live, shadow } = await this.quotas.preview(subject, operation?.cost ?? 0);
      request.live = live;
      request.shadow = shadow;
      return operation === undefined || decision.admitted ? undefined : quotaProblem(subject, decision);
    } catch (error) {
      if (operation === undefined) return undefined;
      return error instanceof Problem ? error : new Problem('quota_unavailable', { cause: error });
    }
  }

  private apply(
    request: AdmissionRequest,
    subject: QuotaSubject,
    operation: Operation,
    decision: QuotaDecision,
  ): boolean {
    request.decision = decision;
    this.recorder.recordDecision(request, subject, operation, decision);
    request.quotaLines = quotaLines(subject, decision);
    const plan = request.key?.record.plan ?? '';
    if (decision.admitted) {
      this.admittedBy(plan).inc();
      return true;
    }
    for (const series of this.refusedBy(plan, decision.violated)) series.inc();
    request.refusal = quotaProblem(subject, decision);
    return false;
  }

  /** Returns one series of refusals for each violated policy. */
  private refusedBy(plan: string, violated: number): readonly ValueSeries[] {
    let byPolicies = this.refused.get(plan);
    if (byPolicies === undefined) this.refused.set(plan, (byPolicies = []));
    return (byPolicies[violated] ??= policyNames(violated).map((policy) =>
      METRICS.quotaDecisions.series(plan, 'refused', policy),
    ));
  }

  private admittedBy(plan: string): ValueSeries {
    let series = this.admitted.get(plan);
    if (series === undefined) {
      series = METRICS.quotaDecisions.series(plan, 'admitted', '');
      this.admitted.set(plan, series);
    }
    return series;
  }
}

function unknownPlan(record: Pick<ApiKeyRecord, 'accountId' | 'plan'> | undefined): Problem {
  return new Problem('quota_unavailable', {
    detail: 'The limits of this account are not configured. This is a fault on our side.',
    cause: `account ${record?.accountId} has plan ${record?.plan}, which gateway.yaml does not have`,
  });
}
