/**
 * Step 4 of 4: whether there is room. Every window of key and account in one decision, which counts when it admits and
 * counts nothing when it refuses. Refuses with 429, or 503 where a plan says closed and the counters are away.
 */
import { Inject, Injectable, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { getOptionsToken, getStorageToken, ThrottlerGuard, type ThrottlerModuleOptions } from '@nestjs/throttler';
import type { Operation } from '../../config/model/schema.js';
import { Problem } from '../../problems/errors.js';
import { METRICS, type ValueSeries } from '../../platform/metrics.js';
import { quotaLines } from '../../limits/model/headers.js';
import { policyNames, type QuotaDecision } from '../../limits/model/policies.js';
import type { QuotaSubject } from '../../limits/model/subject.js';
import { QuotaStorage } from '../../limits/quota-storage.js';
import { quotaProblem } from '../../limits/model/refusal.js';
import { UsageRecorder } from '../../usage/usage-recorder.js';
import { Promised, type Waiting } from '../../platform/waiting.js';
import type { CallbackGuard } from './callback-guard.js';
import type { Exchange, GatewayRequest } from '../request/exchange.js';

/** The stock guard would ask for each window by itself, one after the other, counting some before another refuses. */
@Injectable()
export class QuotaGuard extends ThrottlerGuard implements CallbackGuard<QuotaDecision> {
  private readonly admitted = new Map<string, ValueSeries>();
  /** By plan, and by the bits of `violated`. */
  private readonly refused = new Map<string, (readonly ValueSeries[] | undefined)[]>();

  constructor(
    @Inject(getOptionsToken()) options: ThrottlerModuleOptions,
    @Inject(getStorageToken()) private readonly quotas: QuotaStorage,
    reflector: Reflector,
    private readonly recorder: UsageRecorder,
  ) {
    super(options, quotas, reflector);
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    const promised = new Promised<QuotaDecision>();
    const isAllowed =
      this.ask(context, promised) ?? promised.promise.then((decision) => this.conclude(context, decision));
    // The base class promises a promise; Nest takes the plain value as well, and a decision in this process needs no tick.
    return isAllowed as Promise<boolean>;
  }

  ask(context: ExecutionContext, waiting: Waiting<QuotaDecision>): boolean | undefined {
    const { exchange } = context.getArgByIndex<GatewayRequest>(0);
    const { subject, operation } = exchange;
    if (operation === undefined) return false;
    if (subject === undefined) throw unknownPlan(exchange);
    const decision = this.quotas.decideFor(waiting, subject, operation.cost);
    return decision === undefined ? undefined : this.apply(exchange, subject, operation, decision);
  }

  conclude(context: ExecutionContext, decision: QuotaDecision): boolean {
    const { exchange } = context.getArgByIndex<GatewayRequest>(0);
    const { subject, operation } = exchange;
    if (operation === undefined || subject === undefined) return false;
    return this.apply(exchange, subject, operation, decision);
  }

  private apply(exchange: Exchange, subject: QuotaSubject, operation: Operation, decision: QuotaDecision): boolean {
    exchange.decision = decision;
    this.recorder.begin(exchange, subject, operation, decision);
    exchange.quotaLines = quotaLines(subject, decision);
    const plan = exchange.key?.record.plan ?? '';
    if (decision.admitted) {
      this.admittedBy(plan).inc();
      return true;
    }
    for (const series of this.refusedBy(plan, decision.violated)) series.inc();
    exchange.refusal = quotaProblem(subject, decision);
    return false;
  }

  /** One series for each policy that refuses. */
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

function unknownPlan(exchange: Exchange): Problem {
  return new Problem('quota_unavailable', {
    detail: 'The limits of this account are not configured. This is a fault on our side.',
    cause: `account ${exchange.key?.record.accountId} has plan ${exchange.key?.record.plan}, which gateway.yaml does not have`,
  });
}
