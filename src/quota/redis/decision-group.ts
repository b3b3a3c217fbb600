/** Requests that gather while a call to the store is under way, and get their decisions from the next one. */
import { decisionFor, type GroupVerdict } from '../model/decision.js';
import type { Decider, DecisionSink } from '../model/decision-sink.js';
import { NO_PERIOD } from '../model/month-period.js';
import type { QuotaDecision } from '../model/policies.js';
import type { CounterStart, QuotaSubject } from '../model/subject.js';
import { nowOrTold, tell, tellFailed, type Waiting } from '../../platform/waiting.js';

let groups = 0;

/** Equal requests that wait for one decision. Each is told once, and none can do the others any harm. */
export class DecisionGroup {
  /** How many they are. */
  size = 1;
  /** All but the first. Most groups are of one request, and a list takes more than all the rest of it. */
  private others: Waiting<QuotaDecision>[] | undefined;
  seeded = 0;
  /** Grows from group to group. */
  readonly order = ++groups;
  /** The month that it is asked about; set when it is sent. */
  period = NO_PERIOD;
  /** Before the first of them: the subject's own moves on while they wait. */
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

  /** Each of them goes on with its decision before this returns. */
  resolve(verdict: GroupVerdict, sink: DecisionSink, by: Decider): void {
    for (let position = 0; position < this.size; position++) this.resolveOne(position, verdict, sink, by);
  }

  private resolveOne(position: number, verdict: GroupVerdict, sink: DecisionSink, by: Decider): void {
    const { subject, cost } = this;
    const waiting = this.waitingAt(position);
    let decision: QuotaDecision;
    try {
      decision = sink.decided(subject, decisionFor(subject, cost, verdict, position), by);
    } catch (error) {
      tellFailed(waiting, error);
      return;
    }
    tell(waiting, decision);
  }

  /** Each of them gets what takes the place of a decision; where nothing does, the error. */
  fail(error: unknown, sink: DecisionSink): void {
    for (let position = 0; position < this.size; position++) this.failOne(position, error, sink);
  }

  private failOne(position: number, error: unknown, sink: DecisionSink): void {
    const waiting = this.waitingAt(position);
    let decision: QuotaDecision | undefined;
    try {
      decision = nowOrTold(sink.failed(this.subject, this.cost, error), waiting);
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
