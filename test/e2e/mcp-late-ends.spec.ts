/** What comes of a request to the MCP server whose key ends while it is on its way. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { open } from '../support/http.js';
import { modernMessage, startMcpWorld, type McpWorld } from '../support/mcp-world.js';

let world: McpWorld;
beforeAll(async () => {
  world = await startMcpWorld();
});
afterAll(() => world?.stop());

describe('a key that is revoked behind the head of a request', () => {
  /** Sends half of a message, revokes its key, and sends the rest. */
  const halves = async (method: string, params: object): Promise<readonly [number, string]> => {
    const { secret, keyId } = await world.newKey('unlimited');
    const { body, headers } = modernMessage(method, params);
    const text = JSON.stringify(body);
    const request = open(world.mcpUrl, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'content-length': String(text.length),
        ...headers,
      },
    });
    const responded = new Promise<readonly [number, string]>((resolve, reject) => {
      request.on('error', reject).on('response', (response) => {
        let read = '';
        response.on('data', (piece: Buffer) => (read += piece.toString()));
        response.on('end', () => resolve([response.statusCode ?? 0, read]));
      });
    });
    request.write(text.slice(0, 20));
    await sleep(300);
    await world.revoke(keyId);
    request.end(text.slice(20));
    return Promise.race([responded, sleep(2_000, [0, 'nothing, or a stream without end'] as const, { ref: false })]);
  };

  it.each<[string, object]>([
    ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
    ['tools/call', { name: 'get_usage', arguments: {} }],
    ['tools/call', { name: 'list_customers', arguments: {} }],
    ['tools/list', {}],
  ])('is refused with 401: %s %j', async (method, params) => {
    const before = world.backend.requests.length;
    const [status, text] = await halves(method, params);
    expect([status, text]).toEqual([401, expect.stringContaining('revoked_api_key')]);
    expect(world.backend.requests).toHaveLength(before);
  });
});
