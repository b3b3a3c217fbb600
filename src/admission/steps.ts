/**
 * READ FIRST: the request path, top to bottom. What runs is this list, and it is what `explain` previews.
 *
 * - Before it, `gateway/listener/entrance.ts` gives the request its name and refuses what is framed badly: 400, 414,
 *   431, 501.
 * - `step-walk.ts` leads it through the steps. The first refusal ends it, and a refused request has cost nothing.
 * - Behind the last one, `gateway/steps/backend.ts` forwards it: 413, 502, 503, 504 and whatever the backend says.
 * - Whatever refuses or fails, `gateway/request/error.filter.ts` writes the one error shape.
 * - At the end, `gateway/request/request-end.ts` ends its usage, its metrics and its one log line.
 *
 * Guards ask the same steps of requests that come through Nest's router (`gateway/steps/step-guards.ts`).
 */
import type { Authenticator } from '../keys/authenticator.js';
import type { FailedAttempts } from '../keys/failed-attempts.js';
import type { Limiter } from '../quota/limiter.js';
import type { UsageRecorder } from '../quota/usage/usage-recorder.js';
import type { KeyedRequests } from '../idempotency/keyed-requests.js';
import { IdempotencyStep } from './idempotency-step.js';
import { KeyStep } from './key-step.js';
import type { LifeCycle } from './life-cycle.js';
import type { QuotaReport } from './quota-report.js';
import { QuotaStep } from './quota-step.js';
import { RouteStep } from './route-step.js';
import type { Routes } from './routes.js';
import { ScopeStep } from './scope-step.js';
import type { Step } from './step.js';

/** StepParts are what the steps stand on. */
export interface StepParts {
  readonly routes: Routes;
  readonly lifeCycle: LifeCycle;
  readonly authenticator: Authenticator;
  readonly failedAttempts: FailedAttempts;
  readonly quotas: Limiter;
  readonly quotaReport: QuotaReport;
  readonly recorder: UsageRecorder;
  /** Undefined in a process that forwards nothing. */
  readonly keyedRequests: KeyedRequests | undefined;
}

interface Row {
  readonly name: 'route' | 'key' | 'scope' | 'idempotency' | 'quota';
  /** Every status that the step refuses with. */
  readonly refusesWith: readonly number[];
  readonly open: (parts: StepParts) => Step;
  /** Only requests with an `Idempotency-Key` are asked it: all others must not pay for it. */
  readonly isForKeyed?: true;
}

/** STEPS is what every request is asked, in this order. */
export const STEPS: readonly Row[] = [
  // Which operation is asked for, and whether it has ended.
  { name: 'route', refusesWith: [400, 404, 405, 410], open: (parts) => new RouteStep(parts) },
  // Who is calling, from where.
  { name: 'key', refusesWith: [400, 401, 403, 429, 503], open: (parts) => new KeyStep(parts) },
  // What the key may do.
  { name: 'scope', refusesWith: [403], open: (parts) => new ScopeStep(parts) },
  // Whether it was sent before.
  {
    name: 'idempotency',
    refusesWith: [400, 409, 422, 429, 503],
    open: (parts) => new IdempotencyStep(parts),
    isForKeyed: true,
  },
  // Whether there is room, in every window at once.
  { name: 'quota', refusesWith: [429, 503], open: (parts) => new QuotaStep(parts) },
];

/** Steps are the steps by their names. */
export type Steps = Readonly<Record<Row['name'], Step>>;

/** Opens every step on its parts. */
export function openSteps(parts: StepParts): Steps {
  return Object.fromEntries(STEPS.map(({ name, open }) => [name, open(parts)])) as Steps;
}

/** The steps in their order. */
export function inOrder(steps: Steps): readonly Step[] {
  return STEPS.map(({ name }) => steps[name]);
}

/** The steps that a request without an `Idempotency-Key` is asked, in their order. */
export function inOrderWithoutKey(steps: Steps): readonly Step[] {
  return STEPS.filter(({ isForKeyed }) => isForKeyed !== true).map(({ name }) => steps[name]);
}
