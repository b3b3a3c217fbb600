/** MCP requests whose key is revoked, or whose client disconnects, while they run. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { openRequest } from '../support/http.js';
import { modernMessage, startMcpWorld, type McpWorld } from '../support/mcp-world.js';
import { eventually, temporaryFolder } from '../support/processes.js';

const logFile = join(temporaryFolder('mcp-late-ends'), 'log');
let world: McpWorld;
beforeAll(async () => {
  world = await startMcpWorld({ logFile });
});
afterAll(() => world?.stop());

describe('a key that is revoked after the head of its request', () => {
  /** Sends half of a message, revokes its key, and sends the other half. */
  const sendInHalves = async (method: string, params: object): Promise<readonly [number, string]> => {
    const { secret, keyId } = await world.newKey('unlimited');
    const { body, headers } = modernMessage(method, params);
    const text = JSON.stringify(body);
    const request = openRequest(world.mcpUrl, {
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
    const [status, text] = await sendInHalves(method, params);
    expect([status, text]).toEqual([401, expect.stringContaining('revoked_api_key')]);
    expect(world.backend.requests).toHaveLength(before);
  });
});

it('a client that disconnects during its key lookup causes no backend call, and is logged with 499', async () => {
  const { secret } = await world.newKey('unlimited');
  const { authenticator } = world.modules.keys;
  const found = await authenticator.authenticate(secret, '127.0.0.1');
  let openGate = (): void => undefined;
  const gate = new Promise<void>((resolve) => (openGate = resolve));
  const asked = jest.spyOn(authenticator, 'authenticate').mockImplementationOnce(async () => {
    await gate;
    return found;
  });
  const { body, headers } = modernMessage('tools/call', { name: 'list_customers', arguments: {} });
  const fields = { authorization: `Bearer ${secret}`, 'content-type': 'application/json', 'x-request-id': 'left' };
  const request = openRequest(world.mcpUrl, { method: 'POST', headers: { ...fields, ...headers }, body });
  request.on('error', () => undefined).end(JSON.stringify(body));
  await eventually('its key is looked up', () => asked.mock.calls.length === 1);
  const before = world.backend.requests.length;
  request.destroy();
  const lines = () =>
    readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"left"'));
  await eventually('the disconnect is logged', () => lines().length > 0);
  openGate();
  await sleep(300);
  expect(world.backend.requests).toHaveLength(before);
  expect(lines()).toEqual([expect.stringContaining('"status":499')]);
});
