/** What the forwarder is given and what it reports. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Operation } from '../config/schema.js';

/** One request, ready to be sent. */
export interface ForwardRequest {
  readonly operation: Operation;
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** Path and query relative to the base path, as received. */
  readonly path: string;
  /** Fields for the backend, see `backendRequestHeaders`. */
  readonly headers: string[];
  /** Fields that every answer to this request carries: request id, usage. */
  readonly answerHeaders: readonly string[];
  /** Where the time that the backend took is noted before the answer ends, for the log. */
  readonly timing: { upstreamMs: number };
}
