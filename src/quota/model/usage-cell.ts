/**
 * What one key did with one operation on one day, as this process counts it between two flushes, and what became of
 * each of its requests. The smallest row that a bill can be written from.
 */
import type { Operation } from '../../config/model/schema.js';
import type { DayPeriod } from './month-period.js';

/** What became of a request, by position. */
export const SUCCESS = 0 as const;
export const CLIENT_ERROR = 1 as const;
export const SERVER_ERROR = 2 as const;
export const ABORTED = 3 as const;
export const REFUNDED = 4 as const;
export const RATE_LIMITED = 5 as const;
export const QUOTA_EXCEEDED = 6 as const;
export const DENIED = 7 as const;
export const IN_FLIGHT = 8 as const;
/** Completion is how a request ended for its usage; `IN_FLIGHT` until it has. The usage report calls it the outcome. */
export type Completion =
  | typeof SUCCESS
  | typeof CLIENT_ERROR
  | typeof SERVER_ERROR
  | typeof ABORTED
  | typeof REFUNDED
  | typeof RATE_LIMITED
  | typeof QUOTA_EXCEEDED
  | typeof DENIED
  | typeof IN_FLIGHT;
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

/** Whose cells they are. */
export interface CellOwner {
  readonly accountId: string;
  readonly keyId: string;
  /** The first of its cells. */
  usage: UsageCell | undefined;
}

/**
 * What changed since the last flush; what has ended has left `in_flight`, so that it can be negative. There is one for
 * every key in use: what nearly all requests come to stands in fields of its own, and the rest in a list that few keys
 * have.
 */
export class UsageCell {
  /** Requests of this process that have not ended and will come back to this cell. */
  inFlight = 0;
  /** Whether it waits to be written. */
  isListed = false;
  /** 1 when it has been written, and one more for each flush that has found it idle since; 0: no flush looks at it. */
  rest = 0;
  private succeeded = 0;
  private succeededCost = 0;
  private begun = 0;
  private begunCost = 0;
  /** Requests and cost of the other outcomes, in turn. */
  private others: number[] | undefined = undefined;

  constructor(
    readonly owner: CellOwner,
    readonly operation: Operation,
    /** Label of the month that was counted in. */
    readonly month: number,
    readonly day: DayPeriod,
    /** The owner's cells are a chain: most have one, and a list takes more than that. */
    public next: UsageCell | undefined,
  ) {}

  /** Whether a request of the operation, counted in a month at an instant, belongs here. On the request path. */
  holds(operation: Operation, month: number, nowMs: number): boolean {
    return this.operation === operation && this.month === month && nowMs < this.day.endMs && nowMs >= this.day.startMs;
  }

  add(outcome: number, requests: number, cost: number): void {
    if (outcome === IN_FLIGHT) {
      this.begun += requests;
      this.begunCost += cost;
    } else if (outcome === SUCCESS) {
      this.succeeded += requests;
      this.succeededCost += cost;
    } else {
      this.others ??= Array.from({ length: 2 * CELL_NAMES.length }, () => 0);
      this.others[2 * outcome]! += requests;
      this.others[2 * outcome + 1]! += cost;
    }
  }

  requestsOf(outcome: number): number {
    if (outcome === IN_FLIGHT) return this.begun;
    return outcome === SUCCESS ? this.succeeded : (this.others?.[2 * outcome] ?? 0);
  }

  costOf(outcome: number): number {
    if (outcome === IN_FLIGHT) return this.begunCost;
    return outcome === SUCCESS ? this.succeededCost : (this.others?.[2 * outcome + 1] ?? 0);
  }

  /** Forgets what was counted: it has been handed out. */
  clear(): void {
    this.begun = this.begunCost = this.succeeded = this.succeededCost = 0;
    this.others = undefined;
  }

  /** Takes it from its owner, who makes another one for the next request. */
  drop(): void {
    const { owner } = this;
    if (owner.usage === this) {
      owner.usage = this.next;
      return;
    }
    for (let cell = owner.usage; cell !== undefined; cell = cell.next) {
      if (cell.next === this) cell.next = this.next;
    }
  }
}

/** The part of a request that the recorder keeps on it, instead of an object for every request. */
export interface CountedRequest {
  usage: UsageCell | undefined;
  /** Its cost, as far as it still stands in the counters. */
  usageCost: number;
  /** `IN_FLIGHT` until it has ended. */
  completion: Completion;
  /** Whether its cost has been refunded. */
  usageRefunded: boolean;
}
