/** A problem body assembled from cached parts equals the output of `JSON.stringify`, byte for byte. */
import { describe, expect, it } from '@jest/globals';
import { ErrorPages } from './error-pages.js';
import { ERRORS, FixedProblem, Problem, type ErrorCode, type ProblemOptions } from './errors.js';
import { problemBody } from './problem-body.js';
import { problemBytes } from './problem-text.js';

const REQUEST_ID = 'req_0123456789abcdef01234567';
const PAGES = new ErrorPages('http://localhost:8080');

function expectSameBytes(problem: Problem, requestId = REQUEST_ID, pages = PAGES): void {
  const written = Buffer.from(problemBytes(problem, requestId, pages), 'latin1').toString('utf8');
  expect(written).toBe(JSON.stringify(problemBody(problem, requestId, pages)));
}

const FIELD_ERRORS = [{ detail: 'is "invalid"\n', pointer: '#/e\u0301mail', code: 'invalid' }, { detail: 'too short' }];

const OPTIONS: readonly [string, ProblemOptions][] = [
  ['nothing more', {}],
  ['a detail', { detail: 'Send exactly one.' }],
  ['a plain detail', { detail: 'Send exactly one.', isPlain: true }],
  ['a detail that has to be escaped', { detail: 'a "b" \\c\r\n\t\u0000\u001f</script>\u2028 \ud800 x' }],
  ['a detail beyond ASCII', { detail: 'Gär nicht: 日本 🚣' }],
  ['an empty detail', { detail: '' }],
  ['wrong fields', { detail: 'Some fields are wrong.', errors: FIELD_ERRORS }],
  ['no wrong fields', { errors: [] }],
  ['policies', { violatedPolicies: ['key-minute', 'account-month'], retryAfter: 12 }],
  ['a reset', { violatedPolicies: ['account-month'], resetsAt: '2026-12-01T00:00:00+01:00' }],
  ['no policies', { violatedPolicies: [] }],
  ['another status', { status: 418, detail: 'x' }],
  ['roles', { requiredRoles: ['owner', 'admin'] }],
  ['ways to confirm', { confirmWith: ['password'] }],
  ['scopes', { missingScopes: ['a:b', 'ü:c'] }],
  ["a backend's own code", { detail: 'x', reason: '"é"' }],
  [
    'all there is',
    { detail: 'é', errors: FIELD_ERRORS, violatedPolicies: ['x'], retryAfter: 0, missingScopes: [], reason: '' },
  ],
  ['what is not sent', { headers: ['Retry-After', '1'], cause: new Error('secret') }],
];

describe.each(OPTIONS)('a problem with %s', (_what, options) => {
  it('is serialized like JSON.stringify, both as a single and as a fixed problem', () => {
    for (const problem of [new Problem('rate_limited', options), new FixedProblem('invalid_api_key', options)]) {
      expectSameBytes(problem);
      expectSameBytes(problem, 'req_of-someone.else_1');
    }
  });
});

it.each(Object.keys(ERRORS) as ErrorCode[])(
  '%s is serialized like JSON.stringify for any URL of the error pages',
  (code) => {
    const fixed = new FixedProblem(code, { detail: 'Always the same.' });
    const moved = new ErrorPages('https://api.example.com');
    for (const pages of [PAGES, moved, new ErrorPages('https://bücher.example/"docs"')]) {
      expectSameBytes(new Problem(code), REQUEST_ID, pages);
      expectSameBytes(fixed, REQUEST_ID, pages);
    }
    moved.moveTo('https://other.example.com');
    expectSameBytes(new Problem(code), REQUEST_ID, moved);
    expectSameBytes(fixed, REQUEST_ID, moved);
    expect(moved.typeOf(code)).toBe(`https://other.example.com/docs/errors/${code}`);
  },
);
