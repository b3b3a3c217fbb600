/**
 * What every store of counters reports to. It is constructed before the stores: they know it, and it knows none of
 * them.
 */
import type { QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** Decider is a store as far as it decides: what reports a decision, and can be asked for the one of its shadow. */
export interface Decider {
  /** As `CounterStore.decide`. */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision>;
}

/** DecisionSink is told how every decision ended, before its request goes on, and whether the store answers. */
export interface DecisionSink {
  /**
   * Notes what a store decided. What it throws refuses that request alone: the store has counted it, and the others are
   * none the worse.
   * @returns what the request gets.
   */
  decided(subject: QuotaSubject, decision: QuotaDecision, by: Decider): QuotaDecision;
  /** Finds what takes the place of a decision that failed. Throws what the request is to be refused with. */
  failed(subject: QuotaSubject, cost: number, cause: unknown): QuotaDecision | Promise<QuotaDecision>;
  /** Notes that a call to the store ended; `cause` says why one got no response. */
  called(isAnswered: boolean, cause?: unknown): void;
}

/** PASSING_SINK notes nothing: a decision is passed on as it is, and so is an error. */
export const PASSING_SINK: DecisionSink = {
  decided: (_subject, decision) => decision,
  failed: (_subject, _cost, cause) => {
    throw cause;
  },
  called: () => {},
};
