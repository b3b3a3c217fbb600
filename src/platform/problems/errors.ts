/**
 * Every error that the product can answer with: code → status, title, whose fault.
 *
 * One code stands here once. The reference page, `docs/errors.md` and the tests are held to this table.
 * The shape on the wire is RFC 9457 (`application/problem+json`).
 */

import { ADMIN_ERRORS } from './admin-errors.js';
import type { ErrorEntry } from './error-entry.js';

export const ERRORS = {
  // Framing and size: what the parser or the server refuses before a route is known.
  bad_request: { status: 400, title: 'The request could not be understood', fault: 'client' },
  invalid_path: {
    status: 400,
    title: 'The path is not in a form that this API accepts',
    fault: 'client',
  },
  request_timeout: { status: 408, title: 'The request did not arrive in time', fault: 'client' },
  content_too_large: { status: 413, title: 'The request body is too large', fault: 'client' },
  uri_too_long: { status: 414, title: 'The URL is too long', fault: 'client' },
  unsupported_media_type: {
    status: 415,
    title: 'The content type is not supported',
    fault: 'client',
  },
  headers_too_large: { status: 431, title: 'The request headers are too large', fault: 'client' },
  misdirected_request: { status: 421, title: 'This host name is not served here', fault: 'client' },
  tls_required: { status: 403, title: 'This API is served over HTTPS only', fault: 'client' },
  not_implemented: { status: 501, title: 'This server does not know what was asked for', fault: 'client' },

  // Route.
  route_not_found: { status: 404, title: 'No such path', fault: 'client' },
  method_not_allowed: {
    status: 405,
    title: 'This path does not support the method',
    fault: 'client',
  },
  operation_brownout: { status: 410, title: 'This operation will be retired, and rehearses it', fault: 'client' },
  operation_sunset: { status: 410, title: 'This operation has been retired', fault: 'client' },

  // Who asks, of the MCP server.
  origin_not_allowed: { status: 403, title: 'It is not asked under this name, or from this page', fault: 'client' },

  // Key.
  too_many_failed_attempts: {
    status: 429,
    title: 'Too many failed attempts from this address',
    fault: 'client',
  },
  malformed_authorization: {
    status: 400,
    title: 'The Authorization header is malformed',
    fault: 'client',
  },
  missing_api_key: { status: 401, title: 'An API key is needed', fault: 'client' },
  invalid_api_key: { status: 401, title: 'The API key is not valid', fault: 'client' },
  expired_api_key: { status: 401, title: 'The API key has expired', fault: 'client' },
  revoked_api_key: { status: 401, title: 'The API key has been revoked', fault: 'client' },
  key_paused: { status: 403, title: 'The API key is paused', fault: 'client' },
  ip_not_allowed: {
    status: 403,
    title: 'The API key may not be used from this address',
    fault: 'client',
  },
  account_suspended: { status: 403, title: 'The account is suspended', fault: 'client' },
  authentication_unavailable: {
    status: 503,
    title: 'API keys cannot be checked right now',
    fault: 'gateway',
  },

  // Scope.
  insufficient_scope: { status: 403, title: 'The API key lacks a scope', fault: 'client' },

  // Idempotency key.
  invalid_idempotency_key: { status: 400, title: 'The Idempotency-Key is malformed', fault: 'client' },
  idempotency_in_progress: { status: 409, title: 'The request is still under way', fault: 'client' },
  idempotency_outcome_unknown: { status: 409, title: 'Nobody knows what came of the request', fault: 'client' },
  idempotency_not_stored: { status: 409, title: 'It was done, and its response was not kept', fault: 'client' },
  idempotency_mismatch: { status: 422, title: 'The key belongs to another request', fault: 'client' },
  too_many_idempotent_retries: { status: 429, title: 'Too many repetitions', fault: 'client' },
  idempotency_unavailable: { status: 503, title: 'Idempotency keys cannot be looked up right now', fault: 'gateway' },

  // Quota.
  rate_limited: { status: 429, title: 'Too many requests', fault: 'client' },
  quota_exceeded: { status: 429, title: 'Monthly quota used up', fault: 'client' },
  quota_unavailable: { status: 503, title: 'Limits cannot be checked right now', fault: 'gateway' },
  too_many_usage_queries: { status: 429, title: 'Usage is asked for too often', fault: 'client' },

  // Forward: how much of a service one account may hold.
  too_many_concurrent_requests: { status: 429, title: 'Too many requests at the same time', fault: 'client' },

  // Forward: our own words for what went wrong between us and the backend.
  backend_unreachable: { status: 502, title: 'The backend could not be reached', fault: 'backend' },
  backend_bad_response: {
    status: 502,
    title: 'The backend gave an invalid answer',
    fault: 'backend',
  },
  backend_unavailable: { status: 503, title: 'The backend is unavailable', fault: 'backend' },
  backend_timeout: { status: 504, title: 'The backend did not answer in time', fault: 'backend' },
  backend_error: { status: 500, title: 'The backend failed', fault: 'backend' },

  // What a backend refused, in our shape, with its own status.
  request_refused: { status: 400, title: 'The request was refused', fault: 'client' },
  validation_failed: { status: 422, title: 'Some fields are not valid', fault: 'client' },
  payment_required: { status: 402, title: 'Payment is required', fault: 'client' },
  forbidden: { status: 403, title: 'This is not allowed', fault: 'client' },
  resource_not_found: { status: 404, title: 'No such resource', fault: 'client' },
  not_acceptable: { status: 406, title: 'The requested form is not available', fault: 'client' },
  conflict: { status: 409, title: 'The request conflicts with the current state', fault: 'client' },
  resource_gone: { status: 410, title: 'The resource is gone', fault: 'client' },
  precondition_failed: { status: 412, title: 'A precondition was not met', fault: 'client' },
  backend_rate_limited: {
    status: 429,
    title: 'The backend asks for a slower pace',
    fault: 'client',
  },

  // Lists and parameters of our own endpoints and of the admin API.
  invalid_parameter: { status: 400, title: 'A parameter is not valid', fault: 'client' },
  invalid_cursor: { status: 400, title: 'The cursor is not valid', fault: 'client' },

  ...ADMIN_ERRORS,

  // Ourselves.
  shutting_down: { status: 503, title: 'This server is shutting down', fault: 'gateway' },
  gateway_overloaded: { status: 503, title: 'The gateway has no room', fault: 'gateway' },
  internal_error: { status: 500, title: 'Something went wrong on our side', fault: 'gateway' },
} as const satisfies Record<string, ErrorEntry>;

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
