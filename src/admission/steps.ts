/**
 * READ FIRST: the path of a request through the gateway, from top to bottom. `explain` previews the same steps.
 *
 * - `gateway/listener/entrance.ts` assigns the request ID. It rejects malformed requests, clear text and unknown hosts:
 *   400, 403, 414, 421, 431, 501.
 * - `step-walk.ts` runs the steps. The first refusal ends the request, and refused requests use no quota.
 * - `gateway/steps/backend.ts` forwards the request: 413, 502, 503, 504, or the response of the backend.
 * - `gateway/request/error.filter.ts` writes all errors in the same format.
 * - `gateway/request/request-end.ts` records usage and metrics, and writes the log line.
 *
 * For requests through Nest's router, guards run the same steps (`gateway/steps/step-guards.ts`).
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

/** StepParts are the dependencies of the steps. */
export interface StepParts {
  readonly routes: Routes;
  readonly lifeCycle: LifeCycle;
  readonly authenticator: Authenticator;
  readonly failedAttempts: FailedAttempts;
  readonly quotas: Limiter;
  readonly quotaReport: QuotaReport;
  readonly recorder: UsageRecorder;
  /** Records of idempotency keys. Undefined in a process that does not forward requests. */
  readonly keyedRequests: KeyedRequests | undefined;
}

interface Row {
  readonly name: 'route' | 'key' | 'scope' | 'idempotency' | 'quota';
  /** Status codes of the step's refusals. */
  readonly refusesWith: readonly number[];
  readonly open: (parts: StepParts) => Step;
  /** Set if the step runs only for requests with an `Idempotency-Key`. */
  readonly isForKeyed?: true;
}

/** STEPS lists the admission steps in the order in which they run. */
export const STEPS: readonly Row[] = [
  // Finds the operation. Refuses requests to an operation that is past its sunset or in a brownout.
  { name: 'route', refusesWith: [400, 404, 405, 410], open: (parts) => new RouteStep(parts) },
  // Authenticates the API key.
  { name: 'key', refusesWith: [400, 401, 403, 429, 503], open: (parts) => new KeyStep(parts) },
  // Checks the scopes of the key.
  { name: 'scope', refusesWith: [403], open: (parts) => new ScopeStep(parts) },
  // Detects repeated requests.
  {
    name: 'idempotency',
    refusesWith: [400, 409, 422, 429, 503],
    open: (parts) => new IdempotencyStep(parts),
    isForKeyed: true,
  },
  // Checks and counts all quotas.
  { name: 'quota', refusesWith: [429, 503], open: (parts) => new QuotaStep(parts) },
];

export type Steps = Readonly<Record<Row['name'], Step>>;

/** Creates one instance of each step. */
export function openSteps(parts: StepParts): Steps {
  return Object.fromEntries(STEPS.map(({ name, open }) => [name, open(parts)])) as Steps;
}

/** Returns the steps in the order in which they run. */
export function inOrder(steps: Steps): readonly Step[] {
  return STEPS.map(({ name }) => steps[name]);
}

/** Returns the steps for a request without an `Idempotency-Key`, in the order in which they run. */
export function inOrderWithoutKey(steps: Steps): readonly Step[] {
  return STEPS.filter(({ isForKeyed }) => isForKeyed !== true).map(({ name }) => steps[name]);
}
