/** One row of the catalogue of errors. */

/** Who has to act for the error to go away. `client` errors are never retried by us and never page anyone. */
export type Fault = 'client' | 'backend' | 'gateway';

/** ErrorEntry is all that the product says of a code. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  readonly fault: Fault;
  /** What the code means for an integrator; Markdown with nothing but `code`. */
  readonly meaning: string;
  /** What an integrator does; Markdown with nothing but `code`. */
  readonly action: string;
  /** What an AI assistant does, where the details of the problem do not say it. */
  readonly assistant?: string;
}

/** The action of an integrator where nothing is wrong with the request. */
export const RETRY_LATER = 'Try again with increasing pauses. If it lasts, tell support the `request_id`.';
