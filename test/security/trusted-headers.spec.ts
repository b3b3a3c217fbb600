/** Attack: a client sends headers that backends trust for identity, address, method or URL, in every spelling. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { json } from '../support/backend.js';
import { startEdge, TRANSPORTS, type Edge } from '../support/edge.js';
import { TRUSTED_NAMES } from '../support/trusted-names.js';

/** Below the maximum number of header fields. */
const FIELDS_OF_REQUEST = 60;
const SPELLINGS: readonly ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => name.replaceAll('-', '_'),
  (name) => name.replaceAll('-', '.'),
  (name) => name.replaceAll('-', '~'),
];
const HANDSHAKE = ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13'];

let edge: Edge;
beforeAll(async () => {
  const operations = [{ match: 'GET /live', service: 'backend', scopes: [], websocket: true }];
  edge = await startEdge({ config: { operations } });
});
afterAll(() => edge.stop());
beforeEach(() => edge.answerWith(json({ ok: true })));

describe.each(TRANSPORTS)('%s', (transport) => {
  it('removes all trusted headers from a request, and keeps others', async () => {
    const names = SPELLINGS.flatMap((spell) => TRUSTED_NAMES.map(spell));
    for (let from = 0; from < names.length; from += FIELDS_OF_REQUEST) {
      const forged = names.slice(from, from + FIELDS_OF_REQUEST).flatMap((name) => [name, 'forged']);
      const answer = await edge.sendRequest(transport, { fields: [...forged, 'X-Kept', 'kept'] });
      expect(answer.status).toBe(200);
    }
    const received = edge.receivedRequests(transport);
    expect(received).toHaveLength(Math.ceil(names.length / FIELDS_OF_REQUEST));
    for (const { rawHeaders } of received) {
      expect(rawHeaders).toContain('kept');
      expect(rawHeaders.filter((text) => text.includes('forged'))).toEqual([]);
    }
  });
});

describe.each(TRANSPORTS.filter((transport) => transport !== 'over HTTP/2'))(
  '%s, with a WebSocket handshake',
  (transport) => {
    it('removes trusted headers from a request', async () => {
      const forged = TRUSTED_NAMES.slice(0, FIELDS_OF_REQUEST).flatMap((name) => [name, 'forged']);
      const key = ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='];
      await edge.sendRequest(transport, {
        target: '/api/v1/live',
        fields: [...HANDSHAKE, ...key, ...forged],
        isLast: false,
      });
      const [received] = edge.receivedRequests(transport);
      expect(received?.rawHeaders).toContain('dGhlIHNhbXBsZSBub25jZQ==');
      expect(received?.rawHeaders.filter((text) => text.includes('forged'))).toEqual([]);
    });
  },
);
