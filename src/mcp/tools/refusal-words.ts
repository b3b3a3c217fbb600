/** Texts of refusals for assistants: the fields of the API's error that matter to them, and advice. */
import type { ArgumentFaults } from '../../config/tools/tool.js';
import { fieldValue } from '../../http/grammar/fields.js';
import type { ErrorEntry } from '../../platform/problems/error-entry.js';
import { ERRORS, type ErrorCode, type Problem } from '../../platform/problems/errors.js';

/** Returns the advice for an error code, or undefined if the detail is enough or the code is a backend's. */
function adviceOn(code: string): string | undefined {
  const entry: ErrorEntry | undefined = Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode] : undefined;
  return entry?.assistant;
}

/** Formats a problem as compact JSON. */
export function refusalText(problem: Problem, requestId: string): string {
  const { code, status, options } = problem;
  const { detail, errors, violatedPolicies, retryAfter, resetsAt, missingScopes, reason, headers } = options;
  return JSON.stringify({
    error: code,
    status,
    detail: detail ?? problem.message,
    errors: errors === undefined || errors.length === 0 ? undefined : errors,
    used_up: violatedPolicies,
    retry_after: retryAfter ?? waitIn(headers),
    resets_at: resetsAt,
    missing_scopes: missingScopes,
    reason,
    what_to_do: adviceOn(code),
    request_id: requestId,
  });
}

/** Formats a stored problem, given the body of its response. */
export function storedRefusalText(body: Buffer, requestId: string): string {
  try {
    const { type: _, title, code, ...said } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const advice = adviceOn(String(code));
    return JSON.stringify({ error: code, detail: title, ...said, what_to_do: advice, request_id: requestId });
  } catch {
    return body.toString('utf8');
  }
}

/** Formats argument errors. No request was made. */
export function faultsText({ faults }: ArgumentFaults, requestId: string): string {
  return JSON.stringify({
    error: 'validation_failed',
    detail: 'Some arguments cannot be taken. Nothing was sent, and nothing was counted.',
    errors: faults.map(({ field, detail }) => ({ field: field === '' ? 'arguments' : field, detail })),
    what_to_do: 'Correct the fields by the inputSchema of the tool, and call it again.',
    request_id: requestId,
  });
}

/** Returns the seconds of `Retry-After`. */
function waitIn(headers: readonly string[] | undefined): number | undefined {
  const value = headers === undefined ? undefined : fieldValue(headers, 'retry-after');
  return value === undefined || !/^\d{1,9}$/.test(value) ? undefined : Number(value);
}
