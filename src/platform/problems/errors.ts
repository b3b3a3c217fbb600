/** Defines the errors for callers, which are sent as `application/problem+json` (RFC 9457). */
import { ADMIN_ERRORS } from './admin-errors.js';
import type { ErrorEntry } from './error-entry.js';
import { PUBLIC_ERRORS } from './public-errors.js';

/** ERRORS is the error catalogue, with one row per code. */
export const ERRORS = { ...PUBLIC_ERRORS, ...ADMIN_ERRORS } as const satisfies Record<string, ErrorEntry>;

/** ErrorCode is a code of the catalogue, in snake_case. Integrators rely on codes, so they never change. */
export type ErrorCode = keyof typeof ERRORS;

/**
 * FieldError describes a wrong field or parameter. `pointer` is a JSON Pointer in URI-fragment form (`#/email`), as in
 * RFC 9457's example.
 */
export interface FieldError {
  readonly detail: string;
  readonly pointer?: string;
  /** Name of a query or path parameter, if the body is not at fault. */
  readonly parameter?: string;
  readonly code?: string;
  /** Actor that changed the field in the meantime. `changed_at` is the time of that change (RFC 3339). */
  readonly changed_by?: string;
  readonly changed_at?: string;
}

/** ProblemOptions are the values of a problem in addition to its catalogue row. */
export interface ProblemOptions {
  /** Text for the caller that says what to do. Never contains a stack, a host name or a secret. */
  readonly detail?: string;
  /** True if `detail` is printable ASCII without quotes and backslashes, so that JSON escapes nothing. */
  readonly isPlain?: true;
  readonly errors?: readonly FieldError[];
  /** Names of the limits that refused the request, as in `RateLimit-Policy`. */
  readonly violatedPolicies?: readonly string[];
  /** Response header fields as a flat list of name, value, name, value. */
  readonly headers?: readonly string[];
  /** Value of `Upgrade` for a 426 response. The field is hop by hop, and not used in HTTP/2. */
  readonly upgrade?: string;
  /** Status, if it differs from the catalogue's. Used for a backend's own 4xx. */
  readonly status?: number;
  /** Seconds until a repeated request can be admitted, sent as `retry_after`. */
  readonly retryAfter?: number;
  /** End of the used-up period, in RFC 3339 with the account's UTC offset, sent as `resets_at`. */
  readonly resetsAt?: string;
  readonly missingScopes?: readonly string[];
  /** Roles with permission for the request (admin API). */
  readonly requiredRoles?: readonly string[];
  /** Methods with which the member can confirm their identity (admin API). */
  readonly confirmWith?: readonly string[];
  /** The backend's own error code. */
  readonly reason?: string;
  /** The original error. Logged, never sent. */
  readonly cause?: unknown;
}

/**
 * StacklessError is `Error` without its constructor. The constructor captures the stack, which takes longer than the
 * rest of a refusal.
 */
const StacklessError = function () {} as unknown as new () => Error;
StacklessError.prototype = Error.prototype;

/**
 * Problem is an error for the caller. Steps return problems, handlers throw them, and one filter per application writes
 * the response. A problem has no stack, because a refusal is not a fault in the program. Put an unexpected error into
 * `cause`, with its stack.
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

  /** Makes code that checks this tag treat a problem as an error. */
  get [Symbol.toStringTag](): string {
    return 'Error';
  }
}

/**
 * FixedProblem always has the same body, which is serialized once. Create one per constant refusal, never for a text
 * with a caller, path or time.
 */
export class FixedProblem extends Problem {
  /**
   * Serialized body before and after the request ID, and the URL of error pages that it contains. See
   * `problem-text.ts`.
   */
  textBefore = '';
  textBehind = '';
  textUrl = '';
}

export const PROBLEM_CONTENT_TYPE = 'application/problem+json; charset=utf-8';
