/** Step 3 of 4: what the key may do. Refuses with 403 and names the scopes that are missing. */
import { Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { scopeProblem } from '../../keys/scope-problem.js';
import { UsageRecorder } from '../../usage/usage-recorder.js';
import type { GatewayRequest } from '../request/exchange.js';
import { QuotaReport } from './quota-report.js';

@Injectable()
export class ScopeGuard implements CanActivate {
  constructor(
    private readonly report: QuotaReport,
    private readonly recorder: UsageRecorder,
  ) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const { exchange } = context.getArgByIndex<GatewayRequest>(0);
    const { key, operation } = exchange;
    // Deny by default: without a key or an operation this guard has been put in the wrong place.
    if (key === undefined || operation === undefined) return false;
    if (key.scopeSet.allows(operation)) return true;
    if (exchange.subject !== undefined) this.recorder.denied(exchange.subject, operation);
    exchange.refusal = scopeProblem(key.scopeSet.scopes, operation.scopes);
    return this.report.repeatTo(exchange)?.then(no) ?? false;
  }
}

function no(): false {
  return false;
}
