/**
 * Errors on their way to the caller. The shape on the wire is RFC 9457 (`application/problem+json`).
 */
import { ADMIN_ERRORS } from './admin-errors.js';
import type { ErrorEntry } from './error-entry.js';
import { PUBLIC_ERRORS } from './public-errors.js';

/** The catalogue: each code once. */
export const ERRORS = { ...PUBLIC_ERRORS, ...ADMIN_ERRORS } as const satisfies Record<string, ErrorEntry>;

/** A code of the catalogue: stable, snake_case, what integrators program against. */
export type ErrorCode = keyof typeof ERRORS;

/** One wrong field; `pointer` is a JSON Pointer in URI-fragment form (`#/email`), as in RFC 9457's example. */
export interface FieldError {
  readonly detail: string;
  readonly pointer?: string;
  /** The name of a query or path parameter, where the fault is not in the body. */
  readonly parameter?: string;
  readonly code?: string;
  /** Of a field that somebody changed meanwhile: who, and when (RFC 3339). */
  readonly changed_by?: string;
  readonly changed_at?: string;
}

/** What a problem can carry beside its catalogue row. */
export interface ProblemOptions {
  /** Words for the caller; says what to do. Never a stack, a host name or a secret. */
  readonly detail?: string;
  /** `detail` is of printable ASCII without quotes and backslashes, so that JSON has nothing to escape in it. */
  readonly isPlain?: true;
  readonly errors?: readonly FieldError[];
  /** Names of the quota policies that refused. */
  readonly violatedPolicies?: readonly string[];
  /** Response headers, flat: name, value, name, value. */
  readonly headers?: readonly string[];
  /** The protocols that have to be spoken instead, of a 426; ends at the next hop, and HTTP/2 knows none. */
  readonly upgrade?: string;
  /** A status other than the catalogue's, for a backend's own 4xx. */
  readonly status?: number;
  /** Seconds until the same request can be admitted: `retry_after`. */
  readonly retryAfter?: number;
  /** When what is used up comes back, RFC 3339 with the account's offset: `resets_at`. */
  readonly resetsAt?: string;
  readonly missingScopes?: readonly string[];
  /** Roles that would do; of the admin API. */
  readonly requiredRoles?: readonly string[];
  /** How the member can show that it is still them; of the admin API. */
  readonly confirmWith?: readonly string[];
  /** A backend's own code for what is wrong. */
  readonly reason?: string;
  /** What really happened; for the log only, never sent. */
  readonly cause?: unknown;
}

/**
 * `Error` without what its constructor does: it would look at the stack, which takes longer than the rest of a refusal.
 */
const StacklessError = function () {} as unknown as new () => Error;
StacklessError.prototype = Error.prototype;

/**
 * An error on its way to the caller. Steps return it, handlers throw it; one filter per application writes it.
 *
 * It is an `Error` without a stack: a refusal is a response, not a fault in the program. Put an unexpected error into
 * `cause`, where its own stack survives.
 */
export class Problem extends StacklessError {
  override readonly name = 'Problem';
  override readonly message: string;
  readonly code: ErrorCode;
  readonly status: number;
  readonly options: ProblemOptions;

  constructor(code: ErrorCode, options: ProblemOptions = {}) {
    super();
    this.message = options.detail ?? ERRORS[code].title;
    this.code = code;
    this.status = options.status ?? ERRORS[code].status;
    this.options = options;
    if (options.cause !== undefined) this.cause = options.cause;
  }

  /** For whoever tells errors by their tag. */
  get [Symbol.toStringTag](): string {
    return 'Error';
  }
}

/**
 * A problem that always says the same: made once, and given to everyone whom it concerns. Its body is written once,
 * too. One that names a caller, a path or a time is no such problem: there would be no end of them.
 */
export class FixedProblem extends Problem {
  /**
   * For `problem-text.ts`: the body before and behind the request id, and the address of the
   * error pages that it was written for.
   */
  textBefore = '';
  textBehind = '';
  textUrl = '';
}

export const PROBLEM_CONTENT_TYPE = 'application/problem+json; charset=utf-8';
