/** OPTIONS that say how far they may go (RFC 9110 section 7.6.2): the gateway is one of those on the way. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, WAYS, type Edge } from '../support/edge.js';
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

describe.each(WAYS)('%s', (way) => {
  const options = (fields: string[], target = '/api/v1/things') => edge.ask(way, { method: 'OPTIONS', target, fields });
  const told = () => edge.received(way).map(({ headers }) => headers['max-forwards']);

  it('Max-Forwards reaches the backend with one less to go', async () => {
    expect((await options(['Max-Forwards', '5'])).status).toBe(200);
    expect((await options(['Max-Forwards', '1'])).status).toBe(200);
    expect((await options([])).status).toBe(200);
    expect(told()).toEqual(['4', '0', undefined]);
  });

  it('with 0 it is answered here, with the methods of the path, costs nothing, and no backend hears of it', async () => {
    const answer = await options(['Max-Forwards', '0']);
    expect([answer.status, answer.headers['allow'], answer.text]).toEqual([204, 'OPTIONS, POST', '']);
    expect(answer.headers['x-request-id']).toMatch(/^req_/);
    expect(Object.keys(answer.headers)).not.toContain('ratelimit');
    expect(told()).toEqual([]);
  });

  it('with 0, what is not there, or has no OPTIONS, is refused as ever', async () => {
    expectProblem(await options(['Max-Forwards', '0'], '/api/v1/nothing'), 'route_not_found');
    const refused = await options(['Max-Forwards', '0'], '/api/v1/open');
    expectProblem(refused, 'method_not_allowed');
    expect(refused.headers['allow']).toBe('GET, HEAD');
  });

  it('what is no number is refused', async () => {
    for (const value of ['x', '-1', '1.5']) expectProblem(await options(['Max-Forwards', value]), 'bad_request');
    expect(told()).toEqual([]);
  });

  it('no other method counts', async () => {
    const fields = ['Max-Forwards', '0', 'Content-Length', '0'];
    expect((await edge.ask(way, { method: 'POST', target: '/api/v1/things', fields })).status).toBe(200);
    expect((await edge.ask(way, { fields: ['Max-Forwards', '0'] })).status).toBe(200);
    expect(told()).toEqual(['0', '0']);
  });
});
