/** Provides Nest guards that run the admission steps, one guard per step, in the order of `steps.ts`. */
import { Inject, Injectable, type CanActivate, type ExecutionContext, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { getOptionsToken, getStorageToken, ThrottlerGuard, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { STEPS, type Steps } from '../../admission/steps.js';
import type { Step } from '../../admission/step.js';
import { PromiseReceiver } from '../../platform/callbacks.js';
import { Limiter } from '../../quota/limiter.js';
import type { GatewayRequest } from '../request/exchange.js';

/** Nest's injection token of `Steps`. */
export const STEPS_TOKEN = Symbol('Steps');

/** Runs a step for the request of a guard. Returns a promise only if the step must wait. */
function runStep(step: Step, context: ExecutionContext): boolean | Promise<boolean> {
  const { exchange } = context.getArgByIndex<GatewayRequest>(0);
  const promised = new PromiseReceiver<unknown>();
  return step.check(exchange, promised) ?? promised.promise.then((late) => step.conclude(exchange, late));
}

/** Creates the guard class of a step. */
function stepGuard(name: keyof Steps): Type<CanActivate> {
  @Injectable()
  class StepGuard implements CanActivate {
    constructor(@Inject(STEPS_TOKEN) private readonly steps: Steps) {}

    canActivate(context: ExecutionContext): boolean | Promise<boolean> {
      return runStep(this.steps[name], context);
    }
  }
  // Set the class name that Nest and stack traces show.
  Object.defineProperty(StepGuard, 'name', { value: `${name}StepGuard` });
  return StepGuard;
}

/**
 * QuotaGuard runs the quota step. The library's own guard would decide one window after another. It would count a
 * request in some windows before another window refuses the request.
 */
@Injectable()
export class QuotaGuard extends ThrottlerGuard {
  constructor(
    @Inject(getOptionsToken()) options: ThrottlerModuleOptions,
    @Inject(getStorageToken()) quotas: Limiter,
    reflector: Reflector,
    @Inject(STEPS_TOKEN) private readonly steps: Steps,
  ) {
    super(options, quotas, reflector);
  }

  override canActivate(context: ExecutionContext): Promise<boolean> {
    // The base class declares a promise. Nest also accepts a plain value, which saves a tick.
    return runStep(this.steps.quota, context) as Promise<boolean>;
  }
}

/** ApiKeyGuard runs the key step. */
export const ApiKeyGuard = stepGuard('key');

/** Guards of all steps, in order. */
export const STEP_GUARDS: readonly Type<CanActivate>[] = STEPS.map(({ name }) => {
  if (name === 'quota') return QuotaGuard;
  return name === 'key' ? ApiKeyGuard : stepGuard(name);
});
