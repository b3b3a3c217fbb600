/** OPTIONS requests with Max-Forwards (RFC 9110 section 7.6.2). The gateway counts as one hop. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, TRANSPORTS, type Edge } from '../support/edge.js';
import { expectProblem } from '../support/problem.js';

let edge: Edge;

beforeAll(async () => {
  const operations = [
    { match: 'OPTIONS /things', service: 'backend', scopes: [] },
    { match: 'POST /things', service: 'backend', scopes: [] },
  ];
  edge = await startEdge({ config: { operations } });
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

describe.each(TRANSPORTS)('%s', (transport) => {
  const options = (fields: string[], target = '/api/v1/things') =>
    edge.sendRequest(transport, { method: 'OPTIONS', target, fields });
  const forwarded = () => edge.receivedRequests(transport).map(({ headers }) => headers['max-forwards']);

  it('Max-Forwards of an OPTIONS request is decremented on its way to the backend', async () => {
    expect((await options(['Max-Forwards', '5'])).status).toBe(200);
    expect((await options(['Max-Forwards', '1'])).status).toBe(200);
    expect((await options([])).status).toBe(200);
    expect(forwarded()).toEqual(['4', '0', undefined]);
  });

  it('Max-Forwards: 0 gets 204 with Allow and no limit fields, and does not reach the backend', async () => {
    const answer = await options(['Max-Forwards', '0']);
    expect([answer.status, answer.headers['allow'], answer.text]).toEqual([204, 'OPTIONS, POST', '']);
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    expect(Object.keys(answer.headers)).not.toContain('ratelimit');
    expect(forwarded()).toEqual([]);
  });

  it('Max-Forwards: 0 for an unknown path or a path without OPTIONS is refused', async () => {
    expectProblem(await options(['Max-Forwards', '0'], '/api/v1/nothing'), 'route_not_found');
    const refused = await options(['Max-Forwards', '0'], '/api/v1/open');
    expectProblem(refused, 'method_not_allowed');
    expect(refused.headers['allow']).toBe('GET, HEAD');
  });

  it('Max-Forwards with an invalid number is refused', async () => {
    for (const value of ['x', '-1', '1.5']) expectProblem(await options(['Max-Forwards', value]), 'bad_request');
    expect(forwarded()).toEqual([]);
  });

  it('Max-Forwards of a POST or GET request reaches the backend unchanged', async () => {
    const fields = ['Max-Forwards', '0', 'Content-Length', '0'];
    expect((await edge.sendRequest(transport, { method: 'POST', target: '/api/v1/things', fields })).status).toBe(200);
    expect((await edge.sendRequest(transport, { fields: ['Max-Forwards', '0'] })).status).toBe(200);
    expect(forwarded()).toEqual(['0', '0']);
  });
});
