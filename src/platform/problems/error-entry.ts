/** One row of the catalogue of errors. */

/** Who has to act for the error to go away. `client` errors are never retried by us and never page anyone. */
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

/** The action of an integrator where nothing is wrong with the request. */
export const RETRY_LATER = 'Retry with increasing pauses. If it keeps happening, give support the `request_id`.';
