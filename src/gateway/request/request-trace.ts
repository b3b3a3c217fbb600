/** Trace of a request while it runs. */
import { SAMPLED } from './request-ids.js';

interface StepTime {
  readonly name: string;
  readonly startMs: number;
  /** 0 while the step runs. */
  endMs: number;
}

/** RequestTrace holds the IDs of a request's trace, and when its steps ran (by `performance.now()`). */
export class RequestTrace {
  readonly steps: StepTime[] = [];

  constructor(
    readonly traceId: string,
    /** Span of the caller; empty without one. */
    readonly parentId: string,
    /** Span of the backend call. */
    readonly backendSpanId: string,
    readonly isSampled: boolean,
  ) {}

  /** The trace context for the backend. */
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
