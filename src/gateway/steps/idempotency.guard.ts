/** The idempotency step of `steps.ts`, for requests that come through Nest's router. */
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { Steps } from '../../admission/steps.js';
import { askStep, STEPS_TOKEN } from './ask-step.js';

@Injectable()
export class IdempotencyGuard implements CanActivate {
  constructor(@Inject(STEPS_TOKEN) private readonly steps: Steps) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return askStep(this.steps.idempotency, context);
  }
}
