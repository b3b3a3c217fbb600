/** Row of the error catalogue. */

/** The party that must act to fix an error. */
export type Fault = 'client' | 'backend' | 'gateway';

/** ErrorEntry describes one code, for people, programs and AI assistants. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  readonly fault: Fault;
  /** Tells an integrator the meaning; Markdown with nothing but `code`. */
  readonly meaning: string;
  /** Tells an integrator the next step; Markdown with nothing but `code`. */
  readonly action: string;
  /** Tells an AI assistant the next step, where the details of the problem do not. Not part of the public catalogue. */
  readonly assistant?: string;
}

/** Action for errors that are not caused by the request. */
export const RETRY_LATER = 'Retry with increasing pauses. If it keeps happening, give support the `request_id`.';
