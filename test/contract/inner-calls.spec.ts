/** An inner request (an MCP tool call) has the same effect as over HTTP, for the backend and for the caller. */
import { describe, expect, it } from '@jest/globals';
import { send } from '../support/http.js';
import { fileRequest, filesOfTests, IDLE_MS, LARGE } from '../support/inner-files.js';
import type { InnerRequest } from '../support/inner-world.js';
import { eventually } from '../support/processes.js';

const files = filesOfTests();

/** Removes the fields that differ between requests. */
function withoutNames(problem: Record<string, unknown> | null): unknown {
  const { request_id: _, retry_after: __, ...rest } = problem ?? {};
  return rest;
}

describe('a successful inner request', () => {
  it.each([
    ['a small response', fileRequest('small')],
    ['one in chunks', fileRequest('chunked')],
    ['one without a body', fileRequest('204')],
    ['a query', fileRequest('small?a=%C3%BC&a=2&b=')],
    [
      'an upload',
      {
        match: 'POST /files/{name}',
        url: '/api/v1/files/echo',
        body: '{"a":"ü"}',
        lines: 'content-type: text/plain\r\n',
      },
    ],
    ['one of an operation that emits', { match: 'POST /emits/{name}', url: '/api/v1/emits/x' }],
  ] satisfies [string, InnerRequest][])('with %s has the same effect as over HTTP', async (_what, request) => {
    const asked = await files.rest(request);
    const inner = await files.world.inner(files.secret, request);
    expect([inner.status, inner.body, inner.isCut, inner.problem]).toEqual([asked.status, asked.text, false, null]);
    const [first, second] = files.backend.requests.slice(-2);
    expect([second?.method, second?.url, second?.body.toString()]).toEqual([
      first?.method,
      first?.url,
      first?.body.toString(),
    ]);
    for (const name of ['x-account-id', 'x-api-key-id', 'x-api-scopes', 'forwarded', 'x-forwarded-prefix', 'host'])
      expect([name, second?.headers[name]]).toEqual([name, first?.headers[name]]);
    expect(second?.headers['authorization']).toBeUndefined();
    expect(second?.headers['accept-encoding']).toBeUndefined();
  });

  it('returns the remaining quota, as a response over HTTP does', async () => {
    const asked = await files.rest(fileRequest('small'));
    const { quotaLines } = await files.world.inner(files.secret, fileRequest('small'));
    const left = (text: string | undefined) => Number(/"key-minute";r=(\d+)/.exec(text ?? '')?.[1]);
    expect(left(quotaLines)).toBe(left(String(asked.headers['ratelimit'])) - 1);
  });

  it('has the ID of the request that caused it', async () => {
    const headers = { authorization: `Bearer ${files.secret}`, 'x-request-id': 'asked-inside-1' };
    await send(`${files.world.url}/inner`, { method: 'POST', headers, body: fileRequest('small') });
    expect(files.backend.requests.at(-1)?.headers['x-request-id']).toBe('asked-inside-1');
  });
});

describe('a response body larger than the maximum', () => {
  it.each(['large', 'endless'])('is truncated (%s), and an endless one aborts the backend request', async (name) => {
    const { status, body, isCut } = await files.world.inner(files.secret, fileRequest(name, { mostBytes: 10_000 }));
    expect([status, body.length, isCut]).toEqual([200, 10_000, true]);
    await eventually(
      'the backend request is aborted',
      () => files.backend.requests.at(-1)?.aborted !== false || name === 'large',
    );
  });

  it('is truncated even if it arrives in one piece', async () => {
    expect(await files.world.inner(files.secret, fileRequest('small', { mostBytes: 4 }))).toMatchObject({
      body: '{"na',
      isCut: true,
    });
  });

  it('is complete if it has exactly the maximum size', async () => {
    const inner = await files.world.inner(files.secret, fileRequest('large', { mostBytes: LARGE.length + 2 }));
    expect([inner.body.length, inner.isCut]).toEqual([LARGE.length + 2, false]);
  });

  it('is truncated for an operation that emits an event, too', async () => {
    const request = { match: 'POST /emits/{name}', url: '/api/v1/emits/x', mostBytes: 3 };
    expect(await files.world.inner(files.secret, request)).toMatchObject({ status: 200, body: '{"n', isCut: true });
  });
});

describe('an inner request that is refused or fails', () => {
  it.each([
    ['404', fileRequest('404')],
    ['409', fileRequest('409')],
    ['422', fileRequest('422')],
    ['500', fileRequest('500')],
    ['503', fileRequest('503')],
    ['a connection that is reset', fileRequest('reset')],
    ['a backend that says nothing', fileRequest('hang')],
    ['no backend', { match: 'GET /nowhere', url: '/api/v1/nowhere' }],
    ['an operation that has ended', { match: 'GET /gone', url: '/api/v1/gone' }],
    ['a path that can be read in two ways', fileRequest('a%2Fb')],
  ] satisfies [string, InnerRequest][])('because of %s gets the same problem as over HTTP', async (_what, request) => {
    const asked = await files.rest(request);
    const inner = await files.world.inner(files.secret, request);
    expect([inner.status, withoutNames(inner.problem)]).toEqual([asked.status, withoutNames(asked.json())]);
  });

  it('because of an incomplete body gets a problem instead of a truncated response', async () => {
    expect((await files.world.inner(files.secret, fileRequest('broken'))).problem).toMatchObject({
      code: 'backend_bad_response',
    });
  });

  it('because of an endless slow body ends with a timeout', async () => {
    const startedMs = performance.now();
    expect((await files.world.inner(files.secret, fileRequest('trickle'))).problem).toMatchObject({
      code: 'backend_timeout',
    });
    expect(performance.now() - startedMs).toBeLessThan(10 * IDLE_MS);
  });

  it('because of its key, scopes or limit gets the same problem as over HTTP', async () => {
    const unknown = `tg_live_${'a'.repeat(40)}`;
    const reader = (await files.world.newKey('some', ['files:read'])).secret;
    const few = (await files.world.newKey('few')).secret;
    const write = { match: 'POST /files/{name}', url: '/api/v1/files/echo', body: 'x' };
    for (const [of, request] of [
      [unknown, fileRequest('small')],
      [reader, write],
    ] as const) {
      const asked = await files.rest(request, of);
      const inner = await files.world.inner(of, request);
      expect([inner.status, withoutNames(inner.problem)]).toEqual([asked.status, withoutNames(asked.json())]);
    }
    const statuses: number[] = [];
    for (let at = 0; at < 3; at++) {
      statuses.push(
        (await files.rest(fileRequest('small'), few)).status,
        (await files.world.inner(few, fileRequest('small'))).status,
      );
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429, 429]);
    const refused = await files.world.inner(few, fileRequest('small'));
    expect(refused.problem).toMatchObject({ code: 'rate_limited', 'violated-policies': ['key-minute'] });
  });

  it('because its path leads to another operation reaches no backend', async () => {
    const before = files.backend.requests.length;
    const inner = await files.world.inner(files.secret, fileRequest('secret'));
    expect(inner.problem).toMatchObject({ code: 'route_not_found' });
    expect(files.backend.requests.length).toBe(before);
  });
});

describe('an inner HEAD request', () => {
  it('has no body, and is not an error without one', async () => {
    const request = { match: 'HEAD /files/{name}', url: '/api/v1/files/small' };
    expect(await files.world.inner(files.secret, request)).toMatchObject({ status: 200, body: '', problem: null });
    const missing = { match: 'HEAD /files/{name}', url: '/api/v1/files/404' };
    expect(await files.world.inner(files.secret, missing)).toMatchObject({
      status: 404,
      problem: { code: 'resource_not_found' },
    });
  });
});
