/** Attack: characters that are invalid in a query, and that a cache and a backend could read differently. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, TRANSPORTS, type Edge } from '../support/edge.js';
import { expectProblem } from '../support/problem.js';

let edge: Edge;

beforeAll(async () => {
  edge = await startEdge({
    config: { operations: [{ match: 'GET /live', service: 'backend', scopes: [], websocket: true }] },
  });
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

describe.each(TRANSPORTS)('%s', (transport) => {
  // Browsers encode these (WHATWG URL); a request target has no fragment (RFC 9112 section 3.2).
  it.each([...'"<>', '#'])('%s is refused in a query, and the detail contains its encoding', async (character) => {
    for (const query of [`?a=b${character}c`, `?${character}`]) {
      const { detail } = expectProblem(
        await edge.sendRequest(transport, { target: `/api/v1/open${query}` }),
        'bad_request',
      );
      expect(detail).toContain(encodeURIComponent(character));
    }
    const put = { method: 'PUT', fields: ['Content-Length', '2'], body: 'ab' };
    expectProblem(
      await edge.sendRequest(transport, { ...put, target: `/api/v1/files/a?b=${character}` }),
      'bad_request',
    );
    expect(edge.receivedRequests(transport)).toHaveLength(0);
  });

  it('a fragment after a path is refused', async () => {
    for (const target of ['/api/v1/open#a', '/docs#a', '/api/v1/usage#a?b'])
      expect((await edge.sendRequest(transport, { target })).status).toBe(400);
    expect(edge.receivedRequests(transport)).toHaveLength(0);
  });

  it('all valid query characters, and those that browsers leave raw, reach the backend unchanged', async () => {
    const query = "?filter[name]=a/b?c:d@e!$&'()*+,;=-._~%7B%zz%&[]=100%&q={a|b}^`\\";
    expect((await edge.sendRequest(transport, { target: `/api/v1/open${query}` })).status).toBe(200);
    expect(edge.receivedRequests(transport)[0]?.url).toBe(`/open${query}`);
  });
});

it('a WebSocket handshake with an invalid query character is refused, too', async () => {
  const transport = 'Node parser';
  const fields = [
    'Upgrade',
    'websocket',
    'Sec-WebSocket-Version',
    '13',
    'Sec-WebSocket-Key',
    'dGhlIHNhbXBsZSBub25jZQ==',
  ];
  const answer = await edge.sendRequest(transport, {
    target: '/api/v1/live?a=<b>',
    fields: ['Connection', 'Upgrade', ...fields],
  });
  expectProblem(answer, 'bad_request');
  expect(edge.receivedRequests(transport)).toHaveLength(0);
});
