/** Nest's router asks the steps of `steps.ts` too: by guards in the same order, and by one that is the throttler's. */
import { describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { Reflector } from '@nestjs/core';
import { ThrottlerGuard } from '@nestjs/throttler';
import { STEPS, type Steps } from '../../admission/steps.js';
import type { Step } from '../../admission/step.js';
import type { Limiter } from '../../quota/limiter.js';
import { ApiKeyGuard } from './api-key.guard.js';
import { GatewayController } from './gateway.controller.js';
import { IdempotencyGuard } from './idempotency.guard.js';
import { QuotaGuard } from './quota.guard.js';
import { RouteGuard } from './route.guard.js';
import { ScopeGuard } from './scope.guard.js';

const context = { getArgByIndex: () => ({ exchange: {} }) } as unknown as ExecutionContext;

/** Steps that write down that they were asked; where `late` is given, they say it later. */
function writing(asked: string[], late?: boolean): Steps {
  const step = (name: string): Step => ({
    ask: (_request, waiting) => {
      asked.push(name);
      if (late === undefined) return true;
      queueMicrotask(() => waiting.answered(late));
      return undefined;
    },
    conclude: (_request, said) => said === true,
    preview: () => undefined,
  });
  return Object.fromEntries(STEPS.map(({ name }) => [name, step(name)])) as unknown as Steps;
}

function guardsOf(steps: Steps): Map<unknown, CanActivate> {
  const quota = new QuotaGuard({ throttlers: [] }, {} as Limiter, new Reflector(), steps);
  return new Map<unknown, CanActivate>([
    [RouteGuard, new RouteGuard(steps)],
    [ApiKeyGuard, new ApiKeyGuard(steps)],
    [ScopeGuard, new ScopeGuard(steps)],
    [IdempotencyGuard, new IdempotencyGuard(steps)],
    [QuotaGuard, quota],
  ]);
}

describe('the guards of the controller', () => {
  const declared = Reflect.getMetadata(GUARDS_METADATA, GatewayController) as unknown[];

  it('ask every step, in the order of the list', () => {
    const asked: string[] = [];
    const guards = guardsOf(writing(asked));
    for (const guard of declared) expect(guards.get(guard)?.canActivate(context)).toBe(true);
    expect(asked).toEqual(STEPS.map(({ name }) => name));
  });

  it.each([true, false])('wait for a step that says %s later', async (late) => {
    for (const guard of guardsOf(writing([], late)).values()) expect(await guard.canActivate(context)).toBe(late);
  });

  it('are the throttler’s for the quota', () => {
    expect(QuotaGuard.prototype).toBeInstanceOf(ThrottlerGuard);
  });
});
