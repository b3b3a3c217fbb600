/** Checks that error responses have the API's problem format and match the error catalog. */
import { expect } from '@jest/globals';
import type { ErrorEntry } from '../../src/platform/problems/error-entry.js';
import { ERRORS, type ErrorCode } from '../../src/platform/problems/errors.js';
import type { ProblemBody } from '../../src/platform/problems/problem-body.js';
import type { Answer } from './http.js';

export type { ProblemBody };

const MEMBER_NAME = /^[A-Za-z][A-Za-z0-9_-]{2,}$/;
/** IMF-fixdate (RFC 9110 section 5.6.7). */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:[A-Z][a-z]{2}) \d{4} \d\d:\d\d:\d\d GMT$/;

/**
 * Expects a problem response (RFC 9457) with this code. Its members must match the catalog, the status line and
 * `X-Request-Id`. Returns its body.
 * @param status expected status, if it is a backend's status instead of the one in the catalog.
 */
export function expectProblem(answer: Answer, code: ErrorCode, status: number = ERRORS[code].status): ProblemBody {
  const entry: ErrorEntry = ERRORS[code];
  const body = answer.headers['content-type']?.includes('json') === true ? answer.json() : { text: answer.text };
  expect({ http: answer.status, ...body }).toMatchObject({ http: status, code, status, title: entry.title });
  const problem = body as unknown as ProblemBody;
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expect(answer.headers['cache-control']).toMatch(/no-store/);
  // RFC 9110 section 6.6.1: a server with a clock must send `Date` in every 4xx response.
  expect(answer.headers['date']).toMatch(DATE);
  expect(answer.headers['content-length']).toBe(String(answer.body.length));
  expect(problem.request_id).toBe(answer.headers['x-request-id']);
  expect(problem.request_id).toMatch(/^[A-Za-z0-9_\-.]{1,128}$/);
  expect(problem.type).toMatch(new RegExp(`^https?://[^ ]+/docs/errors/${code}$`));
  expect(problem.detail ?? 'none').not.toBe('');
  expect(problem.detail ?? '').not.toMatch(/\n\s*at |node:|[a-z]\.(?:js|ts):\d+/);
  for (const name of Object.keys(problem)) expect(name).toMatch(MEMBER_NAME);
  return problem;
}

/** Parses a raw HTTP/1.1 response with a `Content-Length`. The body is everything after the head. */
export function parseAnswer(raw: string): Answer {
  const end = raw.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`not a response: ${JSON.stringify(raw.slice(0, 200))}`);
  const [statusLine = '', ...lines] = raw.slice(0, end).split('\r\n');
  const match = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]+$/.exec(statusLine);
  if (match === null) throw new Error(`malformed status line: ${statusLine}`);
  const fields = lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]);
  const headers = Object.fromEntries(
    fields.map(([name = '', value]) => [name.toLowerCase(), value]),
  ) as Answer['headers'];
  const body = Buffer.from(raw.slice(end + 4), 'latin1');
  return {
    status: Number(match[1]),
    headers,
    rawHeaders: fields.flat() as string[],
    body,
    trailers: {},
    text: body.toString(),
    json: <T>() => JSON.parse(body.toString()) as T,
  };
}
