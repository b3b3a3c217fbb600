/**
 * Notes what every request came to, per key, operation and day. On the request path it adds to numbers that it finds
 * through the subject; what has changed waits here, account by account, until the flush takes it.
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

/** So many flushes find a cell idle before it goes. */
const RESTS = 2;

/** A change to one row of the usage table. */
export interface UsageChange {
  readonly accountId: string;
  readonly keyId: string;
  readonly operation: string;
  /** Labels of the month that it was counted in, and of the day: 20261101, 20261120. */
  readonly month: number;
  readonly day: number;
  readonly outcome: string;
  readonly requests: number;
  readonly cost: number;
}

/** UsageRecorder notes how each request began and ended, and hands the changes to the flush. */
export class UsageRecorder {
  /** Who was refused of late. */
  readonly refusals = new RefusalTally();
  private readonly listed = new Map<string, UsageCell[]>();
  /**
   * Cells that have been written, each once, and those of them that `reapIdle` has looked at in this round and kept.
   */
  private written: UsageCell[] = [];
  private kept: UsageCell[] = [];
  /** Refunds that the counters have not answered yet, and who waits for the last of them. */
  private refunding = 0;
  private whenRefunded: (() => void)[] = [];
  /** Since when the oldest change waits, ms; 0: none does. */
  oldestMs = 0;
  /** Cells whose changes wait. */
  length = 0;

  constructor(private readonly clock: Clock) {}

  /** A decision was made. What was admitted is in flight until `end`; a refusal has ended and cost nothing. */
  begin(request: CountedRequest, subject: QuotaSubject, operation: Operation, decision: QuotaDecision): void {
    const { period, nowMs } = decision;
    // At the turn of a month the clock that chose the period can be a moment apart from the one that decided.
    const atMs = Math.max(period.startMs, Math.min(nowMs, period.endMs - 1));
    const cell = this.cellOf(subject, operation, period.label, atMs);
    if (!decision.admitted) {
      const isUsedUp = (decision.violated & CALENDAR_BITS) !== 0;
      this.add(cell, isUsedUp ? QUOTA_EXCEEDED : RATE_LIMITED, 1, 0);
      this.refusals.note(subject.accountId, decision.violated);
      return;
    }
    request.usage = cell;
    // `open`: nobody counted it.
    request.usageCost = decision.source === 'open' ? 0 : decision.cost;
    // A client that left during the decision has ended it already.
    if (request.completion === IN_FLIGHT) cell.inFlight += 1;
    this.add(cell, request.completion, 1, request.usageCost);
    if (decision.shadow !== undefined) void this.noteShadow(cell, decision.shadow);
  }

  /** The shadow's decision comes later than the live one. Never rejects. */
  private async noteShadow(cell: UsageCell, shadow: NonNullable<QuotaDecision['shadow']>): Promise<void> {
    const decision = await shadow;
    if (decision?.admitted === false) this.add(cell, SHADOW_REFUSED, 1, 0);
  }

  /** The request has ended, and its connection is done with it. */
  end(request: CountedRequest, completion: Completion): void {
    const { usage: cell, usageCost: cost } = request;
    if (request.completion !== IN_FLIGHT) return;
    const final = completion === SERVER_ERROR && request.usageRefunded ? REFUNDED : completion;
    request.completion = final;
    if (cell === undefined) return;
    cell.inFlight -= 1;
    this.add(cell, IN_FLIGHT, -1, -cost);
    this.add(cell, final, 1, cost);
  }

  /** The counters are refunding the request's cost. @param given never rejects. */
  refundWhen(request: CountedRequest, given: Promise<number>): void {
    this.refunding += 1;
    void given.then((cost) => {
      this.refund(request, cost);
      this.refunding -= 1;
      if (this.refunding === 0) for (const told of this.whenRefunded.splice(0)) told();
    });
  }

  /** Resolves when every refund that is under way has been noted: each has a deadline of its own. */
  async settled(): Promise<void> {
    if (this.refunding > 0) await new Promise<void>((resolve) => void this.whenRefunded.push(resolve));
  }

  /** The counters have refunded the request's cost, or as much of it. */
  refund(request: CountedRequest, cost: number): void {
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

  /** A known key was refused before its quota was asked for: it may not do this, or not from there. */
  denied(subject: QuotaSubject, operation: Operation): void {
    const nowMs = this.clock.now();
    this.add(this.cellOf(subject, operation, subject.calendar.at(nowMs).label, nowMs), DENIED, 1, 0);
  }

  /** Accounts with changes that wait. */
  accounts(): string[] {
    return [...this.listed.keys()];
  }

  /** Hands out the changes of an account, and forgets them. */
  take(accountId: string, into: UsageChange[]): void {
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
   * Lets go of cells that nothing has happened to for two rounds, so that memory follows what is in use. Not after one:
   * of very many keys in use each comes by less often than a flush, and would have a new cell every time, which is
   * moved to the old objects and left there.
   * @param most are looked at; all of them unless said.
   * @returns whether more are left to be looked at in this round.
   */
  reapIdle(most = Infinity): boolean {
    const { written, kept } = this;
    const start = Math.max(0, written.length - most);
    for (let at = start; at < written.length; at++) {
      const cell = written[at]!;
      if (cell.isListed || cell.inFlight !== 0) cell.rest = 1;
      else cell.rest += 1;
      if (cell.rest <= RESTS) {
        kept.push(cell);
      } else {
        cell.rest = 0;
        cell.drop();
      }
    }
    written.length = start;
    if (start > 0) return true;
    this.written = kept;
    this.kept = [];
    return false;
  }

  private cellOf(subject: QuotaSubject, operation: Operation, month: number, nowMs: number): UsageCell {
    for (let cell = subject.usage; cell !== undefined; cell = cell.next) {
      if (cell.holds(operation, month, nowMs)) return cell;
    }
    subject.usage = new UsageCell(subject, operation, month, subject.calendar.dayAt(nowMs), subject.usage);
    return subject.usage;
  }

  private add(cell: UsageCell, outcome: number, requests: number, cost: number): void {
    cell.add(outcome, requests, cost);
    if (!cell.isListed) this.list(cell);
  }

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
