/** Attack: `%2F` in a path. Only operations that allow it may accept it, as part of one path parameter. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, TRANSPORTS, type Edge } from '../support/edge.js';
import { expectProblem } from '../support/problem.js';

let edge: Edge;

beforeAll(async () => {
  const pass = { service: 'backend', scopes: [], encodedSlashes: 'pass' };
  edge = await startEdge({
    config: {
      operations: [
        { match: 'GET /packages/{name}', ...pass },
        { match: 'PUT /packages/{name}', service: 'backend', scopes: [] },
        { match: 'GET /packages/search', service: 'backend', scopes: [] },
        { match: 'GET /packages/{name}/files/{path}', ...pass },
        { match: 'GET /packages/{name}/owners', service: 'backend', scopes: [] },
      ],
    },
  });
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

describe.each(TRANSPORTS)('%s', (transport) => {
  it.each([
    '/packages/@a%2Fb',
    '/packages/@a%2fb?x=%2F',
    '/packages/a%2Fb%2Fc',
    '/packages/a%2F.hidden',
    '/packages/a%2Fowners',
    '/packages/@a%2Fb/files/src%2Fmain.ts',
  ])('%s reaches the backend as it was sent', async (path) => {
    expect((await edge.sendRequest(transport, { target: `/api/v1${path}` })).status).toBe(200);
    expect(edge.receivedRequests(transport).map(({ url }) => url)).toEqual([path]);
  });

  it.each([
    '/packages/..%2Fb',
    '/packages/a%2F..',
    '/packages/a%2F%2e%2e%2Fb',
    '/packages/a%2F.%2Fb',
    '/packages/%2Fetc',
    '/packages/a%2F',
    '/packages/a%2F%2Fb',
    '/packages/%2F',
    '/packages/a%252Fb',
    '/packages/a%25%32%46b',
    '/packages/a%2Fb%5Cc',
    '/packages/a%2Fb;c',
    '/packages/a%2Fb%00',
    '/packages/search%2Fx',
    '/packages/SEARCH%2Fx',
    '/packages%2Fa',
    '/packages/a%2Fb/owners',
    '/files/a%2Fb',
  ])('%s is refused', async (path) => {
    expectProblem(await edge.sendRequest(transport, { target: `/api/v1${path}` }), 'invalid_path');
    expect(edge.receivedRequests(transport)).toHaveLength(0);
  });

  it('an operation without the setting refuses it, even if another method of the path accepts it', async () => {
    const put = { method: 'PUT', fields: ['Content-Length', '2'], body: '{}' };
    const { detail } = expectProblem(
      await edge.sendRequest(transport, { ...put, target: '/api/v1/packages/a%2Fb' }),
      'invalid_path',
    );
    expect(detail).toContain('an encoded slash (%2F)');
    const answer = await edge.sendRequest(transport, { method: 'DELETE', target: '/api/v1/packages/a%2Fb' });
    expectProblem(answer, 'method_not_allowed');
    expect(edge.receivedRequests(transport)).toHaveLength(0);
  });
});
