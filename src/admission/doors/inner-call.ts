/**
 * A request of the API that is made inside, for a client that speaks another protocol: it is asked every step, counted,
 * forwarded, refunded and logged as if it had come in by its connection, and its response comes back whole.
 */
import type { Operation } from '../../config/model/schema.js';
import type { CachedKey } from '../../keys/cached-key.js';
import type { Problem } from '../../platform/problems/errors.js';
import type { DoorRequest } from './door-request.js';

/** InnerCall is a request that is made inside. */
export interface InnerCall {
  /** What it must lead to: a URL that leads elsewhere is refused as one that leads nowhere. */
  readonly operation: Operation;
  /** Path and query, with the base path. */
  readonly url: string;
  /**
   * Field lines for the backend, names in lower case, each with its CRLF: without `Content-Length`, and without what
   * the gateway sets. An `idempotency-key` among them is one.
   */
  readonly lines: string;
  readonly body: Buffer | undefined;
  /** The client's request that it is made of: its key, its address, its id, its trace, its Host. */
  readonly carrier: DoorRequest;
  /**
   * The carrier's key, where the key step has found it within this turn of the event loop: it is not asked for again.
   * Undefined: it is, as time has passed in which it may have been revoked.
   */
  readonly key: CachedKey | undefined;
  /** The tool that it stands for, in the log. */
  readonly tool: string;
  /** Of the body of the response: what is larger is cut, and the backend's connection let go of. */
  readonly mostBytes: number;
}

/** InnerResponse is what came of it. Of use until whoever is given it has returned. */
export interface InnerResponse {
  /** The status that a client would have had. */
  readonly status: number;
  /** Its field lines, each with its CRLF; none where there is a problem. */
  readonly lines: string;
  /** As many bytes of the body as were asked for. */
  readonly body: Buffer;
  /** Whether there was more of it. */
  readonly isCut: boolean;
  /** Why there is none: what a client would have been told. */
  readonly problem: Problem | undefined;
  /** The lines on what is left of the quota, each with its CRLF. */
  readonly quotaLines: string;
}

/** RunningCall is an inner call that is under way. */
export interface RunningCall {
  /** Ends it as if its client had left: nothing comes back any more. Does nothing once it has ended. */
  cancel(): void;
}

/** InnerPath is where inner calls begin. */
export interface InnerPath {
  /** Begins a call. @param done called once, now or later, unless it is cancelled before; must not throw. */
  begin(call: InnerCall, done: (response: InnerResponse) => void): RunningCall;
}
