/** Fields on their way through, on every way that a request can come in: what is passed on, and in which form. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, WAYS, type Edge } from '../support/edge.js';

let edge: Edge;

beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

describe.each(WAYS)('%s', (way) => {
  it.each(['Proxy', 'proxy', 'PROXY'])(
    'a field %s, of which CGI makes HTTP_PROXY, never reaches a backend',
    async (name) => {
      expect((await edge.ask(way, { fields: [name, 'http://evil.example', 'X-Kept', '1'] })).status).toBe(200);
      const [received] = edge.received(way);
      expect(received?.headers['x-kept']).toBe('1');
      expect(Object.keys(received?.headers ?? {})).not.toContain('proxy');
    },
  );
});
