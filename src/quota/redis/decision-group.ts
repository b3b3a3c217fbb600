/** Equal requests that gather during a call to the store and are decided by the next call. */
import { decisionFor, type GroupVerdict } from '../model/decision.js';
import type { Decider, DecisionSink } from '../model/decision-sink.js';
import { NO_PERIOD } from '../model/month-period.js';
import type { QuotaDecision } from '../model/policies.js';
import type { CounterStart, QuotaSubject } from '../model/subject.js';
import { nowOrTold, tell, tellFailed, type Waiting } from '../../platform/waiting.js';

let groups = 0;

/**
 * DecisionGroup holds equal requests that wait for one decision. Each request is notified once, and none can affect the
 * others.
 */
export class DecisionGroup {
  /** Number of requests. */
  size = 1;
  /**
   * All requests but the first. Most groups have one request, and a list takes more memory than the rest of the group.
   */
  private others: Waiting<QuotaDecision>[] | undefined;
  seeded = 0;
  /** Increases from group to group. */
  readonly order = ++groups;
  /** The month to count in. Set when the group is sent. */
  period = NO_PERIOD;
  /** Initial counts when the group's first request arrived. The subject's own value changes while the group waits. */
  readonly startsFrom: CounterStart | undefined;

  constructor(
    readonly subject: QuotaSubject,
    readonly cost: number,
    private readonly first: Waiting<QuotaDecision>,
  ) {
    this.startsFrom = subject.startsFrom;
  }

  add(waiting: Waiting<QuotaDecision>): void {
    this.size += 1;
    this.others ??= [];
    this.others.push(waiting);
  }

  /** Decides all requests. Each one continues with its decision before this returns. */
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
      tellFailed(waiting, error);
      return;
    }
    tell(waiting, decision);
  }

  /** Gives each request the decision that replaces the failed one, or the error if there is none. */
  fail(error: unknown, sink: DecisionSink): void {
    for (let position = 0; position < this.size; position++) this.failOne(position, error, sink);
  }

  private failOne(position: number, error: unknown, sink: DecisionSink): void {
    const waiting = this.waitingAt(position);
    let decision: QuotaDecision | undefined;
    try {
      decision = nowOrTold(sink.onFailure(this.subject, this.cost, error), waiting);
    } catch (refusal) {
      tellFailed(waiting, refusal);
      return;
    }
    if (decision !== undefined) tell(waiting, decision);
  }

  private waitingAt(position: number): Waiting<QuotaDecision> {
    return position === 0 ? this.first : this.others![position - 1]!;
  }
}
