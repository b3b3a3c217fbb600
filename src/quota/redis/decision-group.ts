/**
 * Groups equal requests (same key, same cost) that wait for a call to Redis. One call decides all requests of a group.
 */
import { decisionFor, type GroupVerdict } from '../model/decision.js';
import type { Decider, DecisionSink } from '../model/decision-sink.js';
import { NO_PERIOD } from '../model/month-period.js';
import type { QuotaDecision } from '../model/policies.js';
import type { CounterStart, QuotaSubject } from '../model/subject.js';
import { valueOrLater, deliverValue, deliverError, type ResultReceiver } from '../../platform/callbacks.js';

/** Number of groups created so far, for `order`. */
let groups = 0;

/**
 * DecisionGroup holds equal requests that wait for one decision. Each request gets its result once. If the sink throws
 * for one request, the other requests are not affected.
 */
export class DecisionGroup {
  /** Number of requests. */
  size = 1;
  /**
   * All requests but the first. Most groups have one request, and an array takes more memory than the rest of the
   * group.
   */
  private others: ResultReceiver<QuotaDecision>[] | undefined;
  /** Number of times that the counters of this group were seeded. */
  seeded = 0;
  /** Number of this group. Later groups have higher numbers. */
  readonly order = ++groups;
  /** The period in which the requests count. `DecisionCalls` sets it when it sends the group. */
  period = NO_PERIOD;
  /**
   * Initial counts for missing shadow counters, as of the first request of the group. Undefined for other counters. The
   * value on the subject changes later.
   */
  readonly startsFrom: CounterStart | undefined;

  constructor(
    readonly subject: QuotaSubject,
    readonly cost: number,
    private readonly first: ResultReceiver<QuotaDecision>,
  ) {
    this.startsFrom = subject.startsFrom;
  }

  add(waiting: ResultReceiver<QuotaDecision>): void {
    this.size += 1;
    this.others ??= [];
    this.others.push(waiting);
  }

  /** Decides all requests. Each request continues with its decision before this method returns. */
  resolve(verdict: GroupVerdict, sink: DecisionSink, by: Decider): void {
    for (let position = 0; position < this.size; position++) this.resolveOne(position, verdict, sink, by);
  }

  private resolveOne(position: number, verdict: GroupVerdict, sink: DecisionSink, by: Decider): void {
    const { subject, cost } = this;
    const waiting = this.waitingAt(position);
    let decision: QuotaDecision;
    try {
      decision = sink.onDecision(subject, decisionFor(subject, cost, verdict, position), by);
    } catch (error) {
      deliverError(waiting, error);
      return;
    }
    deliverValue(waiting, decision);
  }

  /**
   * Gives each request the decision that the sink makes instead of the failed call, or the error that the sink throws.
   */
  fail(error: unknown, sink: DecisionSink): void {
    for (let position = 0; position < this.size; position++) this.failOne(position, error, sink);
  }

  private failOne(position: number, error: unknown, sink: DecisionSink): void {
    const waiting = this.waitingAt(position);
    let decision: QuotaDecision | undefined;
    try {
      decision = valueOrLater(sink.onFailure(this.subject, this.cost, error), waiting);
    } catch (refusal) {
      deliverError(waiting, refusal);
      return;
    }
    if (decision !== undefined) deliverValue(waiting, decision);
  }

  private waitingAt(position: number): ResultReceiver<QuotaDecision> {
    return position === 0 ? this.first : this.others![position - 1]!;
  }
}
