/** Requests that gather while a call to the store is under way, and get their decisions from the next one. */
import { decisionFor, type GroupVerdict } from './decision.js';
import type { MonthPeriod } from './month-period.js';
import type { MonthStart, QuotaDecision, QuotaSubject } from './policies.js';

/** What becomes of decisions before their requests get them. */
export interface Settling {
  made(subject: QuotaSubject, decision: QuotaDecision): QuotaDecision;
  /** In the place of a decision that failed. Throws what the request is to be refused with. */
  failed(subject: QuotaSubject, cost: number, error: unknown): QuotaDecision | Promise<QuotaDecision>;
}

export const PLAIN_SETTLING: Settling = {
  made: (_subject, decision) => decision,
  failed: (_subject, _cost, error) => {
    throw error;
  },
};

let groups = 0;

/** Equal requests that wait for one decision. */
export class Group {
  /** Resolve and reject of each, in turn. */
  readonly waiting: ((answer: never) => void)[] = [];
  seeded = 0;
  /** Grows from group to group. */
  readonly order = ++groups;
  /** The month that it is asked about; set when it is sent. */
  period: MonthPeriod = { label: 0, startMs: 0, endMs: 0 };
  /** Before the first of them: the subject's own moves on while they wait. */
  readonly startsFrom: MonthStart | undefined;

  constructor(
    readonly subject: QuotaSubject,
    readonly cost: number,
  ) {
    this.startsFrom = subject.startsFrom;
  }

  get size(): number {
    return this.waiting.length / 2;
  }

  add(resolve: (decision: QuotaDecision) => void, reject: (error: unknown) => void): void {
    this.waiting.push(resolve, reject);
  }

  resolve(verdict: GroupVerdict, settling: Settling): void {
    for (let position = 0; position < this.size; position++) {
      const resolve = this.waiting[position * 2] as (decision: QuotaDecision) => void;
      resolve(settling.made(this.subject, decisionFor(this.subject, this.cost, verdict, position)));
    }
  }

  /** Each of them gets what takes the place of a decision; where nothing does, the error. */
  fail(error: unknown, settling: Settling): void {
    for (let index = 0; index < this.waiting.length; index += 2) {
      const resolve = this.waiting[index] as (decision: QuotaDecision | Promise<QuotaDecision>) => void;
      try {
        resolve(settling.failed(this.subject, this.cost, error));
      } catch (instead) {
        (this.waiting[index + 1] as (error: unknown) => void)(instead);
      }
    }
  }
}
