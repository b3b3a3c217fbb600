/** Guards of Nest's router run the steps of `steps.ts` in the same order. The quota guard is a ThrottlerGuard. */
import { describe, expect, it } from '@jest/globals';
import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { Reflector } from '@nestjs/core';
import { ThrottlerGuard } from '@nestjs/throttler';
import { STEPS, type Steps } from '../../admission/steps.js';
import type { Step } from '../../admission/step.js';
import type { Limiter } from '../../quota/limiter.js';
import { GatewayController } from './gateway.controller.js';
import { QuotaGuard } from './step-guards.js';

const context = { getArgByIndex: () => ({ exchange: {} }) } as unknown as ExecutionContext;

/** Steps that record their calls. With `late`, they return that result asynchronously. */
function recordingSteps(asked: string[], late?: boolean): Steps {
  const step = (name: string): Step => ({
    check: (_request, waiting) => {
      asked.push(name);
      if (late === undefined) return true;
      queueMicrotask(() => waiting.onResult(late));
      return undefined;
    },
    conclude: (_request, said) => said === true,
    preview: () => undefined,
  });
  return Object.fromEntries(STEPS.map(({ name }) => [name, step(name)])) as unknown as Steps;
}

const declared = Reflect.getMetadata(GUARDS_METADATA, GatewayController) as Type<CanActivate>[];

/** The guards of the controller, in their order. */
function guardsOf(steps: Steps): CanActivate[] {
  return declared.map((Guard) =>
    Guard === QuotaGuard ? new QuotaGuard({ throttlers: [] }, {} as Limiter, new Reflector(), steps) : new Guard(steps),
  );
}

describe('the guards of the controller', () => {
  it('run every step in the order of the list', () => {
    const asked: string[] = [];
    for (const guard of guardsOf(recordingSteps(asked))) expect(guard.canActivate(context)).toBe(true);
    expect(asked).toEqual(['route', 'key', 'scope', 'idempotency', 'quota']);
  });

  it.each([true, false])('wait for a step that returns %s asynchronously', async (late) => {
    for (const guard of guardsOf(recordingSteps([], late))) expect(await guard.canActivate(context)).toBe(late);
  });

  it('use a ThrottlerGuard for the quota', () => {
    expect(QuotaGuard.prototype).toBeInstanceOf(ThrottlerGuard);
    expect(declared.at(-1)).toBe(QuotaGuard);
  });
});
