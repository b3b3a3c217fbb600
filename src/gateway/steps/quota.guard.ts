/**
 * The quota step of `steps.ts`, for requests that come through Nest's router. The stock guard would ask for each window
 * by itself, one after the other, counting some before another refuses.
 */
import { Inject, Injectable, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { getOptionsToken, getStorageToken, ThrottlerGuard, type ThrottlerModuleOptions } from '@nestjs/throttler';
import type { Steps } from '../../admission/steps.js';
import { Limiter } from '../../quota/limiter.js';
import { askStep, STEPS_TOKEN } from './ask-step.js';

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
