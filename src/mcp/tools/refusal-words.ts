/** Formats refusals for assistants, with the fields of the API's error that matter to an assistant, and with advice. */
import type { ArgumentFaults } from '../../config/tools/tool.js';
import { fieldValue } from '../../http/grammar/fields.js';
import type { ErrorEntry } from '../../platform/problems/error-entry.js';
import { ERRORS, type ErrorCode, type Problem } from '../../platform/problems/errors.js';

/**
 * Returns the advice for an error code. Undefined if the detail of the error is sufficient, or if a backend defined the
 * code.
 */
function adviceOn(code: string): string | undefined {
  const entry: ErrorEntry | undefined = Object.hasOwn(ERRORS, code) ? ERRORS[code as ErrorCode] : undefined;
  return entry?.assistant;
}

/** Formats a problem as compact JSON. Members without a value are omitted. */
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

/**
 * Formats a problem that was stored for an idempotency key. Returns the body unchanged if it is not JSON.
 * @param body body of the stored response
 */
export function storedRefusalText(body: Buffer, requestId: string): string {
  try {
    const { type: _, title, code, ...others } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const advice = adviceOn(String(code));
    return JSON.stringify({ error: code, detail: title, ...others, what_to_do: advice, request_id: requestId });
  } catch {
    return body.toString('utf8');
  }
}

/** Formats the errors in the arguments of a call for which no API request was sent. */
export function faultsText({ faults }: ArgumentFaults, requestId: string): string {
  return JSON.stringify({
    error: 'validation_failed',
    detail: 'Some arguments are invalid. Nothing was sent, and nothing was counted.',
    errors: faults.map(({ field, detail }) => ({ field: field === '' ? 'arguments' : field, detail })),
    what_to_do: 'Correct the fields by the inputSchema of the tool, and call it again.',
    request_id: requestId,
  });
}

/** Returns the seconds in `Retry-After`, or undefined if the header is missing or not a number of seconds. */
function waitIn(headers: readonly string[] | undefined): number | undefined {
  const value = headers === undefined ? undefined : fieldValue(headers, 'retry-after');
  return value === undefined || !/^\d{1,9}$/.test(value) ? undefined : Number(value);
}
