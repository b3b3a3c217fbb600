/** Defines a row of the error catalogue. */

/** Fault is the party that must act to fix an error. */
export type Fault = 'client' | 'backend' | 'gateway';

/** ErrorEntry describes one code, for people, programs and AI assistants. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  readonly fault: Fault;
  /** Explains the error to an integrator. Markdown with no markup except `code`. */
  readonly meaning: string;
  /** Tells an integrator what to do next. Markdown with no markup except `code`. */
  readonly action: string;
  /** Tells an AI assistant what to do next, if the details of the problem do not. Not part of the public catalogue. */
  readonly assistant?: string;
}

/** Action for errors that are not caused by the request. */
export const RETRY_LATER = 'Retry with increasing pauses. If it keeps happening, give support the `request_id`.';
