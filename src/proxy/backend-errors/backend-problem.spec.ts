/** The problem for a backend's error: status, code, what is kept and what is never exposed. */
import { describe, expect, it } from '@jest/globals';
import { ErrorPages } from '../../platform/problems/error-pages.js';
import { problemBody } from '../../platform/problems/problem-body.js';
import { backendProblem, type BackendResponse } from './backend-problem.js';

const PAGES = new ErrorPages('https://api.example.com');

const SECRET = 'postgres://app:hunter2@10.0.0.5/prod';

const jsonResponse = (status: number, body: unknown, headers: BackendResponse['headers'] = {}): BackendResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

describe('a 4xx response of the backend', () => {
  it.each([
    [400, 'request_refused'],
    [402, 'payment_required'],
    [404, 'resource_not_found'],
    [405, 'request_refused'],
    [406, 'not_acceptable'],
    [408, 'request_refused'],
    [409, 'conflict'],
    [410, 'resource_gone'],
    [412, 'precondition_failed'],
    [413, 'content_too_large'],
    [415, 'unsupported_media_type'],
    [416, 'request_refused'],
    [418, 'request_refused'],
    [422, 'validation_failed'],
    [428, 'request_refused'],
    [429, 'backend_rate_limited'],
    [451, 'request_refused'],
    [499, 'request_refused'],
  ])('keeps status %i with code %s and its message', (status, code) => {
    const problem = backendProblem(jsonResponse(status, { message: 'Not on Sundays.' }), false);
    expect(problem).toMatchObject({ status, code });
    expect(problemBody(problem, 'req_1', PAGES)).toMatchObject({
      status,
      code,
      detail: 'Not on Sundays.',
      request_id: 'req_1',
    });
  });

  it('keeps field errors and its own code', () => {
    const body = {
      error: { code: 'email_taken', message: 'Exists.', fields: [{ field: 'email', message: 'is taken' }] },
    };
    expect(problemBody(backendProblem(jsonResponse(409, body), false), 'req_1', PAGES)).toMatchObject({
      code: 'conflict',
      reason: 'email_taken',
      errors: [{ detail: 'is taken', pointer: '#/email' }],
    });
  });

  it.each([
    [400, { code: 'invalid_parameter', message: 'x' }, 'invalid_parameter'],
    [400, { error: { code: 'invalid_cursor', message: 'x' } }, 'invalid_cursor'],
    [400, { errors: [{ parameter: 'limit', message: 'must be 1 to 100' }] }, 'invalid_parameter'],
    [422, { detail: [{ loc: ['query', 'limit'], msg: 'is no number' }] }, 'invalid_parameter'],
    [
      422,
      {
        detail: [
          { loc: ['query', 'limit'], msg: 'is no number' },
          { loc: ['body', 'email'], msg: 'x' },
        ],
      },
      'validation_failed',
    ],
    [400, { code: 'quota_exceeded', message: 'x' }, 'request_refused'],
    [409, { code: 'invalid_parameter', message: 'x' }, 'conflict'],
  ])('about a wrong parameter gets the usual code: %i %j is %s', (status, body, code) => {
    expect(backendProblem(jsonResponse(status, body), false)).toMatchObject({ status, code });
  });

  it('cannot overwrite members of the gateway', () => {
    const body = { status: 200, code: 'x', type: 'evil', title: 'evil', request_id: 'evil', instance: 'evil' };
    const written = problemBody(backendProblem(jsonResponse(404, body), false), 'req_1', PAGES);
    expect(written).toMatchObject({
      status: 404,
      code: 'resource_not_found',
      request_id: 'req_1',
      title: 'No such resource',
    });
    expect(written).not.toHaveProperty('instance');
  });

  it('keeps headers that a client needs, and no others', () => {
    const headers = {
      'retry-after': '7',
      allow: 'GET',
      'accept-patch': 'application/json',
      'accept-post': 'text/csv',
      'content-range': 'bytes */10',
      'set-cookie': ['a=1'],
      'x-powered-by': 'PHP/5.3',
      'content-encoding': 'gzip',
      'www-authenticate': 'Basic realm="x"',
    };
    expect(backendProblem(jsonResponse(416, {}, headers), false).options.headers).toEqual([
      'retry-after',
      '7',
      'allow',
      'GET',
      'accept-patch',
      'application/json',
      'accept-post',
      'text/csv',
      'content-range',
      'bytes */10',
    ]);
  });
});

describe('a failure of the backend reveals no details', () => {
  it.each([
    [500, 500, 'backend_error'],
    [501, 502, 'backend_bad_response'],
    [502, 502, 'backend_bad_response'],
    [503, 503, 'backend_unavailable'],
    [504, 504, 'backend_timeout'],
    [505, 502, 'backend_bad_response'],
    [508, 502, 'backend_bad_response'],
    [520, 502, 'backend_bad_response'],
    [599, 502, 'backend_bad_response'],
    [600, 502, 'backend_bad_response'],
    [999, 502, 'backend_bad_response'],
  ])('%i is answered with %i %s and without its body', (status, answered, code) => {
    for (const response of [
      jsonResponse(status, { message: SECRET, code: SECRET, errors: [{ field: SECRET, message: SECRET }] }),
      { status, headers: { 'content-type': 'text/html', 'x-debug': SECRET }, body: `<pre>${SECRET}\n at x.js:1</pre>` },
      { status, headers: {}, body: undefined },
    ]) {
      const problem = backendProblem(response, false);
      expect(problem).toMatchObject({ status: answered, code });
      expect(JSON.stringify([problemBody(problem, 'req_1', PAGES), problem.options])).not.toContain('hunter2');
    }
  });

  it('but 503 keeps Retry-After', () => {
    expect(backendProblem(jsonResponse(503, {}, { 'retry-after': '120' }), false).options.headers).toEqual([
      'retry-after',
      '120',
    ]);
  });
});

describe("a backend's refusal of the gateway itself", () => {
  it.each([401, 403, 407])('becomes a 502 without details for status %i', (status) => {
    const response = jsonResponse(
      status,
      { message: SECRET },
      { 'www-authenticate': 'Basic realm="internal"', 'proxy-authenticate': 'Basic' },
    );
    const problem = backendProblem(response, false);
    expect(problem).toMatchObject({ status: 502, code: 'backend_bad_response' });
    expect(JSON.stringify([problemBody(problem, 'req_1', PAGES), problem.options])).not.toMatch(/hunter2|internal/);
  });

  it('reaches the client if the service authenticates callers', () => {
    const refused = backendProblem(
      jsonResponse(401, { message: 'Sign in again.' }, { 'www-authenticate': 'Bearer realm="b"' }),
      true,
    );
    expect(refused).toMatchObject({ status: 401, code: 'invalid_api_key' });
    expect(refused.options).toMatchObject({
      detail: 'Sign in again.',
      headers: ['www-authenticate', 'Bearer realm="b"'],
    });
    const forbidden = backendProblem(
      jsonResponse(403, { message: 'Not your customer.' }, { 'www-authenticate': 'x' }),
      true,
    );
    expect(forbidden).toMatchObject({ status: 403, code: 'forbidden' });
    expect(forbidden.options).toMatchObject({ detail: 'Not your customer.', headers: [] });
  });
});

describe('a body without meaning', () => {
  it.each<[string, BackendResponse['headers'], string | undefined]>([
    ['HTML', { 'content-type': 'text/html' }, '<html><h1>Not Found</h1><address>Apache/2.4.1</address></html>'],
    ['plain text', { 'content-type': 'text/plain' }, 'Apache says no'],
    [
      'a stack trace in JSON',
      { 'content-type': 'application/json' },
      JSON.stringify({ message: 'Error: Apache\n    at x.js:1' }),
    ],
    ['an oversized body', { 'content-type': 'application/json' }, undefined],
    ['an empty body', { 'content-type': 'application/json' }, ''],
    ['broken JSON', { 'content-type': 'application/json' }, '{"message":"Apache'],
    ['JSON that is no object', { 'content-type': 'application/json' }, '"Apache"'],
  ])('%s becomes a clean problem', (_what, headers, body) => {
    const written = problemBody(backendProblem({ status: 404, headers, body }, false), 'req_1', PAGES);
    expect(written).toEqual({
      type: expect.stringMatching(/\/resource_not_found$/),
      title: 'No such resource',
      status: 404,
      code: 'resource_not_found',
      request_id: 'req_1',
    });
  });
});
