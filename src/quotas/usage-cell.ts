/**
 * What one key did with one operation on one day, as this process counts it between two flushes, and what became of each of its
 * requests. The smallest row that a bill can be written from.
 */
import type { Operation } from '../config/schema.js';
import type { DayPeriod } from './month-period.js';

/** What became of a request, by position. */
export const SUCCESS = 0;
export const CLIENT_ERROR = 1;
export const SERVER_ERROR = 2;
export const ABORTED = 3;
export const GIVEN_BACK = 4;
export const RATE_LIMITED = 5;
export const QUOTA_EXCEEDED = 6;
export const DENIED = 7;
export const IN_FLIGHT = 8;
/** Beside what became of it: the plan's shadow limits would have refused it. It is in no sum of the others. */
export const SHADOW_REFUSED = 9;

/** The names of the outcomes, in the order of their positions; what they mean stands in docs/usage.md. */
export const OUTCOME_NAMES = [
  'success',
  'client_error',
  'server_error',
  'aborted',
  'given_back',
  'rate_limited',
  'quota_exceeded',
  'denied',
  'in_flight',
] as const;

export const SHADOW_REFUSED_NAME = 'shadow_refused';
/** What a cell counts, by position. */
export const CELL_NAMES = [...OUTCOME_NAMES, SHADOW_REFUSED_NAME] as const;

/** Outcome of what was counted by a process that ended before it could say more. No process notes it of itself. */
export const UNRECORDED = 'unrecorded';

/** Outcome of no request: what an operator took from a count, or added to it, by setting it. */
export const ADJUSTED = 'adjusted';

/** What changed since the last flush; what has ended has left `in_flight`, so that it can be negative. */
export class UsageCell {
  /** By outcome. */
  readonly requests = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  readonly costs = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
  /** Requests of this process that have not ended and will come back to this cell. */
  inFlight = 0;
  /** Whether it waits to be written. */
  isListed = false;

  constructor(
    readonly accountId: string,
    readonly keyId: string,
    readonly operation: Operation,
    /** Label of the month that was counted in. */
    readonly month: number,
    readonly day: DayPeriod,
    /** Where its subject finds it, by the operation's index. */
    readonly home: (UsageCell | undefined)[],
  ) {}

  /** Whether a request of the operation, counted in a month at an instant, belongs here. On the request path. */
  holds(operation: Operation, month: number, nowMs: number): boolean {
    return this.operation === operation && this.month === month && nowMs < this.day.endMs && nowMs >= this.day.startMs;
  }

  add(outcome: number, requests: number, cost: number): void {
    this.requests[outcome] = (this.requests[outcome] ?? 0) + requests;
    this.costs[outcome] = (this.costs[outcome] ?? 0) + cost;
  }
}

/** The part of a request that the recorder keeps on it, instead of an object for every request. */
export interface CountedRequest {
  usage: UsageCell | undefined;
  /** Its cost, as far as it still stands in the counters. */
  usageCost: number;
  /** `IN_FLIGHT` until it has ended. */
  usageOutcome: number;
  /** Whether its cost has been taken back. */
  usageTakenBack: boolean;
}
