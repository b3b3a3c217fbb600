/**
 * Usage of one key, operation and day in this process between two flushes, by outcome. It is the smallest row that
 * billing can use.
 */
import type { Operation } from '../../config/model/schema.js';
import type { DayPeriod } from './month-period.js';

/** Outcomes of a request, by position in a cell. */
export const SUCCESS = 0 as const;
export const CLIENT_ERROR = 1 as const;
export const SERVER_ERROR = 2 as const;
export const ABORTED = 3 as const;
export const REFUNDED = 4 as const;
export const RATE_LIMITED = 5 as const;
export const QUOTA_EXCEEDED = 6 as const;
export const DENIED = 7 as const;
export const IN_FLIGHT = 8 as const;
/** Completion is the outcome of a request in usage reports; `IN_FLIGHT` until it has ended. */
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
/**
 * Counts requests that the plan's shadow limits would have refused. It is counted in addition to the outcome and is in
 * no sum.
 */
export const SHADOW_REFUSED = 9;

/** Names of the outcomes by position. docs/usage.md defines them. */
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
/** Names of everything that a cell counts, by position. */
export const CELL_NAMES = [...OUTCOME_NAMES, SHADOW_REFUSED_NAME] as const;

/** Outcome of requests whose process ended before it recorded one. Processes never record it for themselves. */
export const UNRECORDED = 'unrecorded';

/** Outcome of corrections, not requests: the difference when an operator sets a count. */
export const ADJUSTED = 'adjusted';

/** CellOwner is the key that cells belong to. */
export interface CellOwner {
  readonly accountId: string;
  readonly keyId: string;
  /** The first cell of the owner's chain. */
  usage: UsageCell | undefined;
}

/**
 * UsageCell holds changes since the last flush. An ended request leaves `in_flight`, so that count can be negative.
 * Every key in use has a cell. Common outcomes have their own fields; rare ones are in a list that few keys need.
 */
export class UsageCell {
  /** Number of this process's requests that have not ended and belong to this cell. */
  inFlight = 0;
  /** Whether the cell is in the list of cells to write. */
  isListed = false;
  /** 1 after the cell was written, and one more for each flush that found it idle since. 0: no flush looks at it. */
  rest = 0;
  private succeeded = 0;
  private succeededCost = 0;
  private begun = 0;
  private begunCost = 0;
  /** Requests and cost of the other outcomes, alternating. */
  private others: number[] | undefined = undefined;

  constructor(
    readonly owner: CellOwner,
    readonly operation: Operation,
    /** Label of the month in which the requests were counted. */
    readonly month: number,
    readonly day: DayPeriod,
    /** Next cell of the owner. A chain, because most owners have one cell and a list takes more memory. */
    public next: UsageCell | undefined,
  ) {}

  /** Reports whether a request of the operation, counted in a month at an instant, belongs to this cell. Hot path. */
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

  /** Resets the counts after they were handed to a flush. */
  clear(): void {
    this.begun = this.begunCost = this.succeeded = this.succeededCost = 0;
    this.others = undefined;
  }

  /** Removes the cell from its owner. The owner creates a new one for its next request. */
  removeFromOwner(): void {
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

/** CountedRequest is the state that the usage recorder keeps on a request, to avoid one object per request. */
export interface CountedRequest {
  usage: UsageCell | undefined;
  /** The part of the request's cost that the counters still hold. */
  usageCost: number;
  completion: Completion;
  usageRefunded: boolean;
}
