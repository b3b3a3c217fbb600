/** Requests that gather while a call to the store is under way, and get their decisions from the next one. */
import { decisionFor, type GroupVerdict } from './decision.js';
import type { MonthPeriod } from './month-period.js';
import type { QuotaDecision } from './policies.js';
import type { MonthStart, QuotaSubject } from './subject.js';

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

type Resolve = (decision: QuotaDecision | Promise<QuotaDecision>) => void;
type Reject = (error: unknown) => void;

const NO_PERIOD: MonthPeriod = { label: 0, startMs: 0, endMs: 0 };

let groups = 0;

/** Equal requests that wait for one decision. */
export class Group {
  /** How many they are. */
  size = 1;
  /** Resolve and reject of each but the first, in turn. Most groups are of one request, and a list takes more than all the rest of it. */
  private others: (Resolve | Reject)[] | undefined;
  seeded = 0;
  /** Grows from group to group. */
  readonly order = ++groups;
  /** The month that it is asked about; set when it is sent. */
  period = NO_PERIOD;
  /** Before the first of them: the subject's own moves on while they wait. */
  readonly startsFrom: MonthStart | undefined;

  constructor(
    readonly subject: QuotaSubject,
    readonly cost: number,
    private readonly resolveFirst: Resolve,
    private readonly rejectFirst: Reject,
  ) {
    this.startsFrom = subject.startsFrom;
  }

  add(resolve: Resolve, reject: Reject): void {
    this.size += 1;
    this.others ??= [];
    this.others.push(resolve, reject);
  }

  resolve(verdict: GroupVerdict, settling: Settling): void {
    const { subject, cost } = this;
    for (let position = 0; position < this.size; position++) {
      this.resolveOf(position)(settling.made(subject, decisionFor(subject, cost, verdict, position)));
    }
  }

  /** Each of them gets what takes the place of a decision; where nothing does, the error. */
  fail(error: unknown, settling: Settling): void {
    for (let position = 0; position < this.size; position++) {
      try {
        this.resolveOf(position)(settling.failed(this.subject, this.cost, error));
      } catch (instead) {
        this.rejectOf(position)(instead);
      }
    }
  }

  private resolveOf(position: number): Resolve {
    return position === 0 ? this.resolveFirst : (this.others?.[position * 2 - 2] as Resolve);
  }

  private rejectOf(position: number): Reject {
    return position === 0 ? this.rejectFirst : (this.others?.[position * 2 - 1] as Reject);
  }
}
