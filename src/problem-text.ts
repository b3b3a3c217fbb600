/**
 * The body of a problem as it leaves: what `JSON.stringify(problemBody(…))` says, byte for byte, put together from parts that are kept.
 * Refusals come by the thousand, and must not be dearer than what they keep away from a backend.
 */
import {
  ERRORS,
  errorsUrlInForce,
  FixedProblem,
  problemBody,
  problemType,
  type ErrorCode,
  type Problem,
} from './errors.js';

/** Stands for the request id where a body is cut in two: no text of ours holds it. */
const PLACE = '\u0000';
const PLACE_TEXT = JSON.stringify(PLACE);
const OUR_MEMBERS: ReadonlySet<string> = new Set(
  'type title status detail code request_id errors violated-policies'.split(' '),
);

/** By code, a body up to its status; written for `beginningsUrl`. */
const beginnings = new Map<ErrorCode, string>();
let beginningsUrl = '';

/**
 * The body of a problem in UTF-8, each byte as a character (Latin-1), so that it can leave in one write with its head.
 * @param requestId of ASCII characters.
 */
export function problemBytes(problem: Problem, requestId: string): string {
  const url = errorsUrlInForce();
  if (problem instanceof FixedProblem) {
    if (problem.textUrl !== url) keepText(problem, url);
    return problem.textBefore + JSON.stringify(requestId) + problem.textBehind;
  }
  const { code, status } = problem;
  const { detail, errors, violatedPolicies, extensions } = problem.options;
  const more = extensions === undefined ? '' : membersOf(extensions);
  if (more === undefined) return bytesOf(JSON.stringify(problemBody(problem, requestId)));
  let rest = detail === undefined ? '' : `,"detail":${JSON.stringify(detail)}`;
  rest += `,"code":"${code}","request_id":${JSON.stringify(requestId)}`;
  if (errors !== undefined && errors.length > 0) rest += `,"errors":${JSON.stringify(errors)}`;
  if (violatedPolicies !== undefined) rest += `,"violated-policies":${JSON.stringify(violatedPolicies)}`;
  return `${beginningOf(code, url)}${status}${bytesOf(rest + more)}}`;
}

function beginningOf(code: ErrorCode, url: string): string {
  if (url !== beginningsUrl) {
    beginnings.clear();
    beginningsUrl = url;
  }
  let text = beginnings.get(code);
  if (text === undefined) {
    const members = JSON.stringify({ type: problemType(code), title: ERRORS[code].title });
    beginnings.set(code, (text = `${bytesOf(members).slice(0, -1)},"status":`));
  }
  return text;
}

function keepText(problem: FixedProblem, url: string): void {
  const [before = '', behind = ''] = bytesOf(JSON.stringify(problemBody(problem, PLACE))).split(PLACE_TEXT);
  problem.textBefore = before;
  problem.textBehind = behind;
  problem.textUrl = url;
}

/** The members of an extension behind ours; undefined where one has the place of ours, or a number for a name, which comes first. */
function membersOf(extensions: Readonly<Record<string, unknown>>): string | undefined {
  for (const name in extensions) if (OUR_MEMBERS.has(name) || name.charCodeAt(0) <= 57) return undefined;
  const text = JSON.stringify(extensions);
  return text === '{}' ? '' : `,${text.slice(1, -1)}`;
}

/** UTF-8 as Latin-1, byte for byte. Counting the bytes takes half as long as looking for one that is not ASCII with a pattern. */
function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}
