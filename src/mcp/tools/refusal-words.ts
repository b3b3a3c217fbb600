/**
 * A refusal as an assistant can act on it: what the error of the API says, without what only a program needs, and a
 * sentence on what to do.
 */
import type { ArgumentFaults } from '../../config/tools/tool.js';
import { fieldValue } from '../../http/grammar/fields.js';
import type { ErrorCode, Problem } from '../../platform/problems/errors.js';

const GRANT =
  'Whoever manages the API keys of this account can give the key this scope, or hand out a key that has it. Asking ' +
  'again with this key gives the same refusal.';
const NEW_KEY =
  'The API key of this connection cannot be used. The person who set it up has to put another one in its place.';
const TELL = 'The fault is in the API, not in the call. Tell the person, with the request_id.';
const LATER = 'The fault is not in the call. Try the same again after the wait, a few times at the most.';

/** What to do, by code, where the detail does not say it. */
const ADVICE: Partial<Record<ErrorCode, string>> = {
  insufficient_scope: GRANT,
  missing_api_key: NEW_KEY,
  invalid_api_key: NEW_KEY,
  expired_api_key: NEW_KEY,
  revoked_api_key: NEW_KEY,
  key_paused: 'Whoever manages the API keys of this account can let the key go on.',
  tls_required: 'The connection has to use https. The person who set it up has to change its URL and replace the key.',
  account_suspended: 'Nothing can be called until the account is active again. Its owner can find out why.',
  rate_limited: 'Wait for retry_after seconds, then go on more slowly. get_usage says what is left, and costs nothing.',
  quota_exceeded: 'Do not call again before resets_at: it would be refused. Tell the person; a larger plan may help.',
  too_many_concurrent_requests: 'Make fewer calls at the same time.',
  backend_rate_limited: 'Wait for retry_after seconds, then go on more slowly.',
  backend_unavailable: LATER,
  backend_unreachable: LATER,
  backend_timeout: `${LATER} It may have been done all the same: look before something is created twice.`,
  backend_bad_response: TELL,
  backend_error: TELL,
  conflict: 'Something else stands in the way. Look up how it is now, and call again with what fits that.',
  validation_failed: 'Correct what errors or detail name, and call it again.',
  quota_unavailable: LATER,
  authentication_unavailable: LATER,
  resource_not_found: 'There is nothing with this id, or this key may not see it. Look it up with a tool that lists.',
};

/** The text of a refusal: compact JSON. */
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
    what_to_do: ADVICE[code],
    request_id: requestId,
  });
}

/** The same of a problem that was told before, as the body of its response. */
export function storedRefusalText(body: Buffer, requestId: string): string {
  try {
    const { type: _, title, code, ...said } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const advice = ADVICE[code as ErrorCode];
    return JSON.stringify({ error: code, detail: title, ...said, what_to_do: advice, request_id: requestId });
  } catch {
    return body.toString('utf8');
  }
}

/** The text of arguments that cannot be taken; the request was not made. */
export function faultsText({ faults }: ArgumentFaults, requestId: string): string {
  return JSON.stringify({
    error: 'validation_failed',
    detail: 'Some arguments cannot be taken. Nothing was sent, and nothing was counted.',
    errors: faults.map(({ field, detail }) => ({ field: field === '' ? 'arguments' : field, detail })),
    what_to_do: 'Correct the fields by the inputSchema of the tool, and call it again.',
    request_id: requestId,
  });
}

/** Whole seconds of `Retry-After`. */
function waitIn(headers: readonly string[] | undefined): number | undefined {
  const value = headers === undefined ? undefined : fieldValue(headers, 'retry-after');
  return value === undefined || !/^\d{1,9}$/.test(value) ? undefined : Number(value);
}
