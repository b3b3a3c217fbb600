/** Guards that answer later without a promise, and the others in their shape. */
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { nowOrTold, type Waiting } from '../../platform/waiting.js';

/** Asked in two parts where Nest's router is not the one that asks. What it throws refuses the request. */
export interface CallbackGuard<Answer = unknown> {
  /** Whether the request may go on; undefined: `waiting` is told later what to `conclude` from. */
  ask(context: ExecutionContext, waiting: Waiting<Answer>): boolean | undefined;
  /** Whether the request may go on. */
  conclude(context: ExecutionContext, answer: Answer): boolean;
}

/** A guard as it can be asked by callback. */
export function callbackGuard(guard: CanActivate): CallbackGuard {
  return isCallbackGuard(guard) ? guard : new PlainGuard(guard);
}

function isCallbackGuard(guard: CanActivate): guard is CanActivate & CallbackGuard {
  return 'ask' in guard && 'conclude' in guard;
}

/** A guard as Nest knows it, but that it may not answer with an observable: that would be a no. */
class PlainGuard implements CallbackGuard {
  constructor(private readonly guard: CanActivate) {}

  ask(context: ExecutionContext, waiting: Waiting<boolean>): boolean | undefined {
    const answer = this.guard.canActivate(context);
    return answer instanceof Promise ? nowOrTold<boolean>(answer, waiting) : answer === true;
  }

  conclude(_context: ExecutionContext, answer: unknown): boolean {
    return answer === true;
  }
}
