/**
 * Collects the usage of one key, operation and day in this process between two flushes, by outcome. Usage rows in the
 * database have the same granularity, which is the finest that billing needs.
 */
import type { Operation } from '../../config/model/schema.js';
import type { DayPeriod } from './month-period.js';

/** Outcomes of a request. Each number is the outcome's position in a cell. */
export const SUCCESS = 0 as const;
export const CLIENT_ERROR = 1 as const;
export const SERVER_ERROR = 2 as const;
export const ABORTED = 3 as const;
export const REFUNDED = 4 as const;
export const RATE_LIMITED = 5 as const;
export const QUOTA_EXCEEDED = 6 as const;
export const DENIED = 7 as const;
export const IN_FLIGHT = 8 as const;
/** Completion is the outcome of a request in usage reports. It is `IN_FLIGHT` until the request has ended. */
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
 * Position of requests that the plan's shadow limits would have refused. Such a request is counted here in addition to
 * its outcome, and is not part of any sum.
 */
export const SHADOW_REFUSED = 9;

/** Names of the outcomes, by position. `docs/usage.md` defines them. */
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

/** Outcome of requests whose process died before it recorded their outcome. Other processes record it. */
export const UNRECORDED = 'unrecorded';

/**
 * Outcome of adjustments. An adjustment is the difference that results when an operator sets a count. It is not a
 * request.
 */
export const ADJUSTED = 'adjusted';

/** CellOwner is the key that cells belong to. */
export interface CellOwner {
  readonly accountId: string;
  readonly keyId: string;
  /** First cell of the owner's linked list. */
  usage: UsageCell | undefined;
}

/**
 * UsageCell holds the changes since the last flush. When a request ends, its count moves from `in_flight` to its
 * outcome, so the `in_flight` change can be negative. Every key in use has a cell. Common outcomes have their own
 * fields. Rare outcomes are in an array that few keys need.
 */
export class UsageCell {
  /** Number of requests in this cell that have not ended. */
  inFlight = 0;
  /** Whether the cell is in the list of cells to write. */
  isListed = false;
  /**
   * 0 while the recorder does not check the cell for idleness. 1 after a write, and 1 more for each flush that finds
   * the cell idle.
   */
  rest = 0;
  private succeeded = 0;
  private succeededCost = 0;
  private begun = 0;
  private begunCost = 0;
  /** Requests and cost of the rare outcomes, alternating. */
  private others: number[] | undefined = undefined;

  constructor(
    readonly owner: CellOwner,
    readonly operation: Operation,
    /** Label of the month in which the requests count. */
    readonly month: number,
    readonly day: DayPeriod,
    /**
     * Next cell of the owner. This is a linked list, because most owners have one cell and an array takes more memory.
     */
    public next: UsageCell | undefined,
  ) {}

  /**
   * Reports whether a request belongs to this cell: one of this operation, counted in this month, at `nowMs`. Hot path.
   */
  matchesRequest(operation: Operation, month: number, nowMs: number): boolean {
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

  /** Resets the counts after the recorder has handed them to a flush. */
  clear(): void {
    this.begun = this.begunCost = this.succeeded = this.succeededCost = 0;
    this.others = undefined;
  }

  /** Removes the cell from its owner. The recorder creates a new cell for the owner's next request. */
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

/**
 * CountedRequest is the part of a request's state that the usage recorder uses. The request object has these fields
 * itself, to avoid an allocation per request.
 */
export interface CountedRequest {
  usage: UsageCell | undefined;
  /** The counted cost of the request, minus refunds. 0 if nothing was counted. */
  usageCost: number;
  completion: Completion;
  usageRefunded: boolean;
}
