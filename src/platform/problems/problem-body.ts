/** Creates the body of an error response as an object, in the format of RFC 9457 with our extension members. */
import type { ErrorPages } from './error-pages.js';
import { ERRORS, type FieldError, type Problem } from './errors.js';

/** ProblemBody is the JSON body of an error. Our extension members are `code` and all members after `code`. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly code: string;
  readonly request_id: string;
  readonly errors?: readonly FieldError[];
  readonly 'violated-policies'?: readonly string[];
  readonly retry_after?: number;
  readonly resets_at?: string;
  readonly missing_scopes?: readonly string[];
  readonly required_roles?: readonly string[];
  readonly confirm_with?: readonly string[];
  readonly reason?: string;
}

/** Placeholder for an omitted member. All omitted members share this object. */
const NOTHING = {};

/**
 * Returns the body of the response to a problem.
 * @param pages provides the `type` URL
 */
export function problemBody(problem: Problem, requestId: string, pages: ErrorPages): ProblemBody {
  const { detail, errors, violatedPolicies, retryAfter, resetsAt, missingScopes, reason } = problem.options;
  const { requiredRoles, confirmWith } = problem.options;
  return {
    type: pages.typeOf(problem.code),
    title: ERRORS[problem.code].title,
    status: problem.status,
    ...(detail === undefined ? NOTHING : { detail }),
    code: problem.code,
    request_id: requestId,
    ...(errors === undefined || errors.length === 0 ? NOTHING : { errors }),
    ...(violatedPolicies === undefined ? NOTHING : { 'violated-policies': violatedPolicies }),
    ...(retryAfter === undefined ? NOTHING : { retry_after: retryAfter }),
    ...(resetsAt === undefined ? NOTHING : { resets_at: resetsAt }),
    ...(missingScopes === undefined ? NOTHING : { missing_scopes: missingScopes }),
    ...(requiredRoles === undefined ? NOTHING : { required_roles: requiredRoles }),
    ...(confirmWith === undefined ? NOTHING : { confirm_with: confirmWith }),
    ...(reason === undefined ? NOTHING : { reason }),
  };
}
