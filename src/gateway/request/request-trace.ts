/** Records the trace of a request while the request is in progress. */
import { SAMPLED } from './request-ids.js';

interface StepTime {
  readonly name: string;
  readonly startMs: number;
  /** End of the step (`performance.now()`). 0 while the step runs. */
  endMs: number;
}

/** RequestTrace holds the IDs of a request's trace, and the times of its steps (`performance.now()`). */
export class RequestTrace {
  readonly steps: StepTime[] = [];

  constructor(
    readonly traceId: string,
    /** Span ID of the caller. Empty if the caller sent no trace. */
    readonly parentId: string,
    /** Span ID of the backend call, which the backend receives as its parent. */
    readonly backendSpanId: string,
    readonly isSampled: boolean,
  ) {}

  /** Value of `traceparent` for the backend. */
  get traceparent(): string {
    return `00-${this.traceId}-${this.backendSpanId}-0${this.isSampled ? SAMPLED : 0}`;
  }

  beginStep(name: string): void {
    this.steps.push({ name, startMs: performance.now(), endMs: 0 });
  }

  endStep(): void {
    const step = this.steps.at(-1);
    if (step !== undefined) step.endMs = performance.now();
  }
}
