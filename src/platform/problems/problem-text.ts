/**
 * Writes the body of a problem, byte for byte like `JSON.stringify(problemBody(…))`. Reuses constant parts, because a
 * refusal must cost less than the request that it prevents.
 */
import type { ErrorPages } from './error-pages.js';
import { ERRORS, FixedProblem, type ErrorCode, type Problem } from './errors.js';
import { problemBody } from './problem-body.js';

/** Placeholder for the request ID. The text occurs nowhere else in a body. */
const ID_PLACEHOLDER = '<request id>';

/** Beginnings of bodies, up to the status, by code. All contain the URL `beginningsUrl`. */
const beginnings = new Map<ErrorCode, string>();
let beginningsUrl = '';

/**
 * Returns the body in UTF-8 with one character per byte (Latin-1), so that it can be written together with the head.
 * @param requestId not escaped, so it must have only letters, digits, `_`, `-` and `.`
 * @param traceId 32 hex digits for the member `trace_id`; empty to omit the member
 */
export function problemBytes(problem: Problem, requestId: string, pages: ErrorPages, traceId = ''): string {
  const ids = traceId === '' ? requestId : `${requestId}","trace_id":"${traceId}`;
  if (problem instanceof FixedProblem) {
    if (problem.textUrl !== pages.url) serializeFixed(problem, pages);
    return `${problem.textBefore}${ids}${problem.textBehind}`;
  }
  const { code, status } = problem;
  const { detail, isPlain, errors, violatedPolicies, retryAfter, resetsAt, missingScopes, reason } = problem.options;
  const { requiredRoles, confirmWith } = problem.options;
  let text = beginningOf(code, pages) + status;
  if (detail !== undefined) text += isPlain === true ? `,"detail":"${detail}"` : `,"detail":${valueOf(detail)}`;
  text += `,"code":"${code}","request_id":"${ids}"`;
  if (errors !== undefined && errors.length > 0) text += `,"errors":${valueOf(errors)}`;
  if (violatedPolicies !== undefined) text += `,"violated-policies":${valueOf(violatedPolicies)}`;
  if (retryAfter !== undefined) text += `,"retry_after":${retryAfter}`;
  // Times in our own format need no escaping.
  if (resetsAt !== undefined) text += `,"resets_at":"${resetsAt}"`;
  if (missingScopes !== undefined) text += `,"missing_scopes":${valueOf(missingScopes)}`;
  if (requiredRoles !== undefined) text += `,"required_roles":${valueOf(requiredRoles)}`;
  if (confirmWith !== undefined) text += `,"confirm_with":${valueOf(confirmWith)}`;
  if (reason !== undefined) text += `,"reason":${valueOf(reason)}`;
  return `${text}}`;
}

function beginningOf(code: ErrorCode, pages: ErrorPages): string {
  if (pages.url !== beginningsUrl) {
    beginnings.clear();
    beginningsUrl = pages.url;
  }
  let text = beginnings.get(code);
  if (text === undefined) {
    const members = JSON.stringify({ type: pages.typeOf(code), title: ERRORS[code].title });
    beginnings.set(code, (text = `${bytesOf(members).slice(0, -1)},"status":`));
  }
  return text;
}

function serializeFixed(problem: FixedProblem, pages: ErrorPages): void {
  const text = bytesOf(JSON.stringify(problemBody(problem, ID_PLACEHOLDER, pages)));
  const [before = '', after = ''] = text.split(ID_PLACEHOLDER);
  problem.textBefore = before;
  problem.textBehind = after;
  problem.textUrl = pages.url;
}

function valueOf(value: unknown): string {
  return bytesOf(JSON.stringify(value));
}

/** Converts a text to UTF-8 with one character per byte. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}
