/** The one shape of every error, held against the catalogue: what each answer that refuses must look like. */
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
 * Expects an RFC 9457 answer with this code, whose members agree with the catalogue, the status line and `X-Request-Id`;
 * returns its body. `status` where the code is passed on with a backend's own.
 */
export function expectProblem(answer: Answer, code: ErrorCode, status: number = ERRORS[code].status): ProblemBody {
  const entry: ErrorEntry = ERRORS[code];
  const body = answer.headers['content-type']?.includes('json') === true ? answer.json() : { text: answer.text };
  expect({ http: answer.status, ...body }).toMatchObject({ http: status, code, status, title: entry.title });
  const problem = body as unknown as ProblemBody;
  expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8');
  expect(answer.headers['cache-control']).toMatch(/no-store/);
  // RFC 9110 section 6.6.1: whoever has a clock says when, in every response of 4xx.
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

/** The answer in raw bytes of a connection, parsed as far as an answer with a Content-Length needs it. */
export function parseAnswer(raw: string): Answer {
  const end = raw.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`no answer but ${JSON.stringify(raw.slice(0, 200))}`);
  const [statusLine = '', ...lines] = raw.slice(0, end).split('\r\n');
  const match = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]+$/.exec(statusLine);
  if (match === null) throw new Error(`a status line of its own kind: ${statusLine}`);
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
