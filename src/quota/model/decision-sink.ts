/**
 * Defines the interface through which counter stores report decisions and failures. The stores depend on the sink. The
 * sink depends on no store, so it is constructed first.
 */
import type { QuotaDecision } from './policies.js';
import type { QuotaSubject } from './subject.js';

/** Decider is the part of a store that makes decisions. A sink uses it to decide shadow requests. */
export interface Decider {
  /** Decides one request; see `CounterStore.decide`. */
  decide(subject: QuotaSubject, cost: number): QuotaDecision | Promise<QuotaDecision>;
}

/** DecisionSink receives every decision before its request continues, and learns whether the store responds. */
export interface DecisionSink {
  /**
   * Receives a decision. If this method throws, the request fails with the error, although the store has counted it.
   * Other requests that the call decided are not affected.
   * @returns the decision that the request gets.
   */
  onDecision(subject: QuotaSubject, decision: QuotaDecision, by: Decider): QuotaDecision;
  /** Returns the decision that replaces a failed one. Throws if the request must be refused with an error. */
  onFailure(subject: QuotaSubject, cost: number, cause: unknown): QuotaDecision | Promise<QuotaDecision>;
  /**
   * Receives the end of a call to the store.
   * @param cause the error, if the call got no response.
   */
  onCallEnd(hasResponse: boolean, cause?: unknown): void;
}

/** PASSING_SINK passes on decisions and errors unchanged, and records nothing. */
export const PASSING_SINK: DecisionSink = {
  onDecision: (_subject, decision) => decision,
  onFailure: (_subject, _cost, cause) => {
    throw cause;
  },
  onCallEnd: () => {},
};
