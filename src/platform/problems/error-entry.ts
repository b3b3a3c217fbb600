/** One row of the catalogue of errors. */

/** Who has to act for the error to go away. `client` errors are never retried by us and never page anyone. */
export type Fault = 'client' | 'backend' | 'gateway';

/** ErrorEntry is what the catalogue says of a code. */
export interface ErrorEntry {
  readonly status: number;
  readonly title: string;
  readonly fault: Fault;
}
