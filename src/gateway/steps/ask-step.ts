/**
 * The thin adapter by which Nest's router asks the steps of the request path: a guard for each, under the name of its
 * step.
 */
import type { ExecutionContext } from '@nestjs/common';
import type { Step } from '../../admission/step.js';
import { Promised } from '../../platform/waiting.js';
import type { GatewayRequest } from '../request/exchange.js';

/** STEPS_TOKEN is what `Steps` are injected by. */
export const STEPS_TOKEN = Symbol('Steps');

/** Asks a step as a guard does: a promise only where there is something to wait for. */
export function askStep(step: Step, context: ExecutionContext): boolean | Promise<boolean> {
  const { exchange } = context.getArgByIndex<GatewayRequest>(0);
  const promised = new Promised<unknown>();
  return step.ask(exchange, promised) ?? promised.promise.then((late) => step.conclude(exchange, late));
}
