/**
 * The receiver of everything that counter stores report. The stores know it; it knows no store, so it is constructed
 * first.
 */
import type { QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** Decider is the part of a store that decides. It reports decisions, and decides shadow requests. */
export interface Decider {
  /** Decides one request; see `CounterStore.decide`. */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision>;
}

/** DecisionSink receives the result of every decision before its request continues, and whether the store responds. */
export interface DecisionSink {
  /**
   * Receives a decision. If it throws, only this request is refused, although the store has counted it.
   * @returns the decision that the request gets.
   */
  onDecision(subject: QuotaSubject, decision: QuotaDecision, by: Decider): QuotaDecision;
  /** Returns the decision that replaces a failed one. Throws the error with which the request is refused. */
  onFailure(subject: QuotaSubject, cost: number, cause: unknown): QuotaDecision | Promise<QuotaDecision>;
  /** Receives the end of a call to the store. `cause` says why a call got no response. */
  onCallEnd(isAnswered: boolean, cause?: unknown): void;
}

/** PASSING_SINK records nothing. It passes on decisions and errors unchanged. */
export const PASSING_SINK: DecisionSink = {
  onDecision: (_subject, decision) => decision,
  onFailure: (_subject, _cost, cause) => {
    throw cause;
  },
  onCallEnd: () => {},
};
