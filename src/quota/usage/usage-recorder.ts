/**
 * Records the outcome of every request, by key, operation and day. The request path only adds to numbers in the cells
 * of the request's key. The changes wait in memory, by account, until the flush takes them. If the process dies before
 * that, the changes are lost. With shared counters, the sweep later records their cost as `unrecorded`.
 */
import type { Clock } from '../../platform/clock.js';
import type { Operation } from '../../config/model/schema.js';
import { CALENDAR_BITS } from '../../platform/quotas/windows.js';
import type { QuotaDecision } from '../model/policies.js';
import { RefusalTally } from './refusal-tally.js';
import type { QuotaSubject } from '../model/subject.js';
import {
  CELL_NAMES,
  DENIED,
  REFUNDED,
  IN_FLIGHT,
  QUOTA_EXCEEDED,
  RATE_LIMITED,
  SERVER_ERROR,
  SHADOW_REFUSED,
  UsageCell,
  type Completion,
  type CountedRequest,
} from '../model/usage-cell.js';

/** Number of flushes that must find a cell idle before it is removed. */
const IDLE_FLUSHES = 2;

/** UsageChange is a change to one row of the usage table. */
export interface UsageChange {
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  /** Labels of the month and the day in which the requests count: 20261101, 20261120. */
  readonly month: number;
  readonly day: number;
  readonly outcome: string;
  readonly requests: number;
  readonly cost: number;
}

/** UsageRecorder records the decision on each request and its outcome, and hands the changes to the flush. */
export class UsageRecorder {
  /** Counts of recent refusals, for the metrics. */
  readonly refusals = new RefusalTally();
  /** Cells with changes that wait for the flush, by account ID. */
  private readonly listed = new Map<string, UsageCell[]>();
  /**
   * Cells that a flush has taken, without duplicates. `written` holds the cells that `reapIdle` still has to check in
   * this round. `kept` holds the cells that it has checked and kept.
   */
  private written: UsageCell[] = [];
  private kept: UsageCell[] = [];
  /** Number of refunds in flight, and callbacks to call when the last refund has been recorded. */
  private refunding = 0;
  private whenRefunded: (() => void)[] = [];
  /** When the oldest waiting change was recorded, in ms. 0 if no change waits. */
  oldestMs = 0;
  /** Number of cells with waiting changes. */
  length = 0;

  constructor(private readonly clock: Clock) {}

  /**
   * Records a decision. An admitted request is in flight until `recordEnd`. A refused request has ended and costs
   * nothing.
   */
  recordDecision(request: CountedRequest, subject: QuotaSubject, operation: Operation, decision: QuotaDecision): void {
    const { period, nowMs } = decision;
    // At the end of a month, the clock that chose the period can differ slightly from the clock that decided.
    const atMs = Math.max(period.startMs, Math.min(nowMs, period.endMs - 1));
    const cell = this.cellOf(subject, operation, period.label, atMs);
    if (!decision.admitted) {
      const isUsedUp = (decision.violated & CALENDAR_BITS) !== 0;
      this.add(cell, isUsedUp ? QUOTA_EXCEEDED : RATE_LIMITED, 1, 0);
      this.refusals.recordRefusal(subject.accountId, decision.violated);
      return;
    }
    request.usage = cell;
    // With the policy `open`, nothing was counted.
    request.usageCost = decision.source === 'open' ? 0 : decision.cost;
    // If the client disconnected during the decision, the request has already ended.
    if (request.completion === IN_FLIGHT) cell.inFlight += 1;
    this.add(cell, request.completion, 1, request.usageCost);
    if (decision.shadow !== undefined) void this.recordShadow(cell, decision.shadow);
  }

  /** Records a refusal by the shadow limits. The shadow decision arrives after the live decision. Never rejects. */
  private async recordShadow(cell: UsageCell, shadow: NonNullable<QuotaDecision['shadow']>): Promise<void> {
    const decision = await shadow;
    if (decision?.admitted === false) this.add(cell, SHADOW_REFUSED, 1, 0);
  }

  /**
   * Records the outcome of a request. Call it when the response has closed. Further calls for the request have no
   * effect.
   */
  recordEnd(request: CountedRequest, completion: Completion): void {
    const { usage: cell, usageCost: cost } = request;
    if (request.completion !== IN_FLIGHT) return;
    const finalOutcome = completion === SERVER_ERROR && request.usageRefunded ? REFUNDED : completion;
    request.completion = finalOutcome;
    if (cell === undefined) return;
    cell.inFlight -= 1;
    this.add(cell, IN_FLIGHT, -1, -cost);
    this.add(cell, finalOutcome, 1, cost);
  }

  /**
   * Records a refund when it completes.
   * @param refund resolves to the refunded cost; never rejects.
   */
  trackRefund(request: CountedRequest, refund: Promise<number>): void {
    this.refunding += 1;
    void refund.then((cost) => {
      this.recordRefund(request, cost);
      this.refunding -= 1;
      if (this.refunding === 0) for (const resume of this.whenRefunded.splice(0)) resume();
    });
  }

  /** Resolves when every refund in flight has been recorded. Each refund has its own deadline. */
  async refundsSettled(): Promise<void> {
    if (this.refunding > 0) await new Promise<void>((resolve) => void this.whenRefunded.push(resolve));
  }

  /**
   * Records that the counters refunded the request's cost, or a part of it. A server error then has the outcome
   * `REFUNDED`.
   */
  recordRefund(request: CountedRequest, cost: number): void {
    const { usage: cell, completion } = request;
    if (cost === 0) return;
    request.usageRefunded = true;
    request.usageCost -= cost;
    if (cell === undefined) return;
    this.add(cell, completion, 0, -cost);
    if (completion !== SERVER_ERROR) return;
    request.completion = REFUNDED;
    this.add(cell, SERVER_ERROR, -1, 0);
    this.add(cell, REFUNDED, 1, 0);
  }

  /**
   * Records a request that was refused before its quota was checked. Its key lacks a permission, is paused, belongs to
   * a suspended account, or does not allow the client's address.
   */
  recordDenied(subject: QuotaSubject, operation: Operation): void {
    const nowMs = this.clock.now();
    this.add(this.cellOf(subject, operation, subject.calendar.at(nowMs).label, nowMs), DENIED, 1, 0);
  }

  /** Returns the accounts with waiting changes. */
  waitingAccounts(): string[] {
    return [...this.listed.keys()];
  }

  /** Removes the waiting changes of an account, and adds them to `into`. */
  takeChanges(accountId: string, into: UsageChange[]): void {
    const cells = this.listed.get(accountId);
    if (cells === undefined) return;
    this.listed.delete(accountId);
    this.length -= cells.length;
    if (this.listed.size === 0) this.oldestMs = 0;
    for (const cell of cells) {
      cell.isListed = false;
      if (cell.rest === 0) this.written.push(cell);
      cell.rest = 1;
      drain(cell, into);
    }
  }

  /**
   * Removes cells that had no changes for two flushes, so that memory use follows the number of active keys. One round
   * would be too short. With very many keys, each key makes fewer requests than there are flushes. Each request would
   * create a new cell, which the garbage collector moves to the old generation.
   * @param most maximum number of cells to check.
   * @returns whether cells are left to check in this round.
   */
  reapIdle(most = Infinity): boolean {
    const { written, kept } = this;
    const start = Math.max(0, written.length - most);
    for (let at = start; at < written.length; at++) {
      const cell = written[at]!;
      if (cell.isListed || cell.inFlight !== 0) cell.rest = 1;
      else cell.rest += 1;
      if (cell.rest <= IDLE_FLUSHES) {
        kept.push(cell);
      } else {
        cell.rest = 0;
        cell.removeFromOwner();
      }
    }
    written.length = start;
    if (start > 0) return true;
    this.written = kept;
    this.kept = [];
    return false;
  }

  /** Returns the cell for a request. Creates the cell if the subject has none. */
  private cellOf(subject: QuotaSubject, operation: Operation, month: number, nowMs: number): UsageCell {
    for (let cell = subject.usage; cell !== undefined; cell = cell.next) {
      if (cell.matchesRequest(operation, month, nowMs)) return cell;
    }
    subject.usage = new UsageCell(subject, operation, month, subject.calendar.dayAt(nowMs), subject.usage);
    return subject.usage;
  }

  private add(cell: UsageCell, outcome: number, requests: number, cost: number): void {
    cell.add(outcome, requests, cost);
    if (!cell.isListed) this.list(cell);
  }

  /** Adds a cell to the cells that wait for the flush. */
  private list(cell: UsageCell): void {
    cell.isListed = true;
    this.length += 1;
    if (this.listed.size === 0) this.oldestMs = this.clock.now();
    const { accountId } = cell.owner;
    const cells = this.listed.get(accountId);
    if (cells === undefined) this.listed.set(accountId, [cell]);
    else cells.push(cell);
  }
}

/** Adds the changes of a cell to `into`, and resets the cell. */
function drain(cell: UsageCell, into: UsageChange[]): void {
  const { operation, month, day } = cell;
  const { accountId, keyId } = cell.owner;
  for (let outcome = 0; outcome < CELL_NAMES.length; outcome++) {
    const requests = cell.requestsOf(outcome);
    const cost = cell.costOf(outcome);
    if (requests === 0 && cost === 0) continue;
    const name = CELL_NAMES[outcome] ?? '';
    into.push({ accountId, keyId, operation: operation.id, month, day: day.label, outcome: name, requests, cost });
  }
  cell.clear();
}
