/** Guards by which Nest's router asks the steps of the request path, one for each step, in the order of `steps.ts`. */
import { Inject, Injectable, type CanActivate, type ExecutionContext, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { getOptionsToken, getStorageToken, ThrottlerGuard, type ThrottlerModuleOptions } from '@nestjs/throttler';
import { STEPS, type Steps } from '../../admission/steps.js';
import type { Step } from '../../admission/step.js';
import { Promised } from '../../platform/waiting.js';
import { Limiter } from '../../quota/limiter.js';
import type { GatewayRequest } from '../request/exchange.js';

/** STEPS_TOKEN is what `Steps` are injected by. */
export const STEPS_TOKEN = Symbol('Steps');

/** Asks a step as a guard does: a promise only where there is something to wait for. */
function askStep(step: Step, context: ExecutionContext): boolean | Promise<boolean> {
  const { exchange } = context.getArgByIndex<GatewayRequest>(0);
  const promised = new Promised<unknown>();
  return step.ask(exchange, promised) ?? promised.promise.then((late) => step.conclude(exchange, late));
}

/** Makes the guard of a step. */
function stepGuard(name: keyof Steps): Type<CanActivate> {
  @Injectable()
  class StepGuard implements CanActivate {
    constructor(@Inject(STEPS_TOKEN) private readonly steps: Steps) {}

    canActivate(context: ExecutionContext): boolean | Promise<boolean> {
      return askStep(this.steps[name], context);
    }
  }
  // Nest and stacks tell the guards by it.
  Object.defineProperty(StepGuard, 'name', { value: `${name}StepGuard` });
  return StepGuard;
}

/**
 * QuotaGuard asks the quota step. The stock guard would ask for each window by itself, and count some before another
 * refuses.
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
    // The base class promises a promise; Nest takes the plain value as well, and a decision in this process needs no
    // tick.
    return askStep(this.steps.quota, context) as Promise<boolean>;
  }
}

/** ApiKeyGuard asks the key step. */
export const ApiKeyGuard = stepGuard('key');

/** The guard of each step, in their order. */
export const STEP_GUARDS: readonly Type<CanActivate>[] = STEPS.map(({ name }) => {
  if (name === 'quota') return QuotaGuard;
  return name === 'key' ? ApiKeyGuard : stepGuard(name);
});
