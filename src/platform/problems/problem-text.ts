/**
 * The body of a problem as it leaves: what `JSON.stringify(problemBody(…))` says, byte for byte, put together from
 * parts that are kept. Refusals come by the thousand, and must not be dearer than what they keep away from a backend.
 */
import type { ErrorPages } from './error-pages.js';
import { ERRORS, FixedProblem, type ErrorCode, type Problem } from './errors.js';
import { problemBody } from './problem-body.js';

/** Stands for the request id where a body is cut in two: no text of ours holds it. */
const PLACE = '<request id>';

/** By code, a body up to its status; written for `beginningsUrl`. */
const beginnings = new Map<ErrorCode, string>();
let beginningsUrl = '';

/**
 * The body of a problem in UTF-8, each byte as a character (Latin-1), so that it can leave in one write with its head.
 * @param requestId of letters, digits, `_`, `-` and `.`: it is not looked at once more.
 * @param traceId 32 hex digits for the member `trace_id`; empty: none.
 */
export function problemBytes(problem: Problem, requestId: string, pages: ErrorPages, traceId = ''): string {
  const ids = traceId === '' ? requestId : `${requestId}","trace_id":"${traceId}`;
  if (problem instanceof FixedProblem) {
    if (problem.textUrl !== pages.url) keepText(problem, pages);
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
  // A time of our own making has nothing to escape.
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

function keepText(problem: FixedProblem, pages: ErrorPages): void {
  const [before = '', behind = ''] = bytesOf(JSON.stringify(problemBody(problem, PLACE, pages))).split(PLACE);
  problem.textBefore = before;
  problem.textBehind = behind;
  problem.textUrl = pages.url;
}

function valueOf(value: unknown): string {
  return bytesOf(JSON.stringify(value));
}

/** UTF-8 as Latin-1, byte for byte. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}
