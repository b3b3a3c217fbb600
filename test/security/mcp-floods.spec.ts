/**
 * A flood of hostile messages to the MCP server of the running program, with slow bodies and unread streams. Each is
 * refused, none reaches the backend, and plain requests of another account succeed.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { modernMessage } from '../support/mcp-world.js';
import { mergePatch, testOpenapi, type Json } from '../support/program-config.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const FLOODERS = 12;
const ROUNDS = 8;
const SLOW_BODIES = 40;
const UNREAD_STREAMS = 16;
const GETS = 60;

const OPENAPI = mergePatch(testOpenapi, {
  paths: {
    '/customers': {
      post: {
        description: 'Creates a customer from a name.',
        'x-mcp': true,
        requestBody: {
          content: {
            'application/json': {
              schema: { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false },
            },
          },
        },
      },
    },
  },
}) as Json;

const create = (args: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'create_customer', arguments: args } });
const HOSTILE: readonly string[] = [
  '['.repeat(900_000),
  `{"a":${'['.repeat(60)}${']'.repeat(60)}}`.repeat(1_000),
  JSON.stringify(Array.from({ length: 5_000 }, () => JSON.parse(create({ name: 'x' })) as unknown)),
  create(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`a${at}`, at]))),
  create({ name: { toString: 'x'.repeat(500_000) } }),
  create({ ['__proto__x']: 1, nonsense: 'x'.repeat(900_000) }),
  `"${'x'.repeat(1024 * 1024)}"`,
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"constructor":{"prototype":{"polluted":1}}}}',
];

let backend: Backend;
let trailgate: SharedTrailgate;
const agents = [new Agent({ keepAlive: true, maxSockets: FLOODERS }), new Agent({ keepAlive: true })] as const;
const sockets: Socket[] = [];
beforeAll(async () => {
  backend = await startBackend(json({ data: [] }));
  trailgate = await acquireTrailgate({ backend: backend.url, openapi: OPENAPI });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  for (const agent of agents) agent.destroy();
  await trailgate?.stop();
  await backend?.stop();
});

/** Opens a connection that sends a message or its beginning, and reads nothing. */
function open(secret: string, lines: string, body: string): void {
  const { port } = new URL(trailgate.gatewayUrl);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.pause();
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\n`;
  socket.write(`${head}${lines}\r\n${body}`);
  sockets.push(socket);
}

it('a flood of hostile MCP messages is refused, while plain requests of another account succeed', async () => {
  const [hostile, other] = await Promise.all([trailgate.admin.newKey(), trailgate.admin.newKey()]);
  const { secret } = hostile.key;
  for (let at = 0; at < SLOW_BODIES; at++) open(secret, 'Content-Length: 100000\r\n', '{"jsonrpc":"2.0"');
  const { body, headers } = modernMessage('subscriptions/listen', { notifications: { toolsListChanged: true } });
  const listen = JSON.stringify(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  for (let at = 0; at < UNREAD_STREAMS; at++)
    open(secret, `${lines.join('')}Content-Length: ${listen.length}\r\n`, listen);

  const flood = async (): Promise<(string | number)[]> => {
    const said: (string | number)[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const text = HOSTILE[round % HOSTILE.length]!;
      const fields = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
      const options = { method: 'POST', headers: fields, body: text, agent: agents[0], timeoutMs: 60_000 };
      const reply = await send(`${trailgate.gatewayUrl}/mcp`, options).catch(() => undefined);
      // The connection of a too large message may be closed while it is being sent.
      if (reply === undefined) said.push('cut');
      else said.push(/"error"|"isError":true|"code"/.test(reply.text) ? 'refused' : reply.text.slice(0, 200));
    }
    return said;
  };
  const plain = async (): Promise<number[]> => {
    const statuses: number[] = [];
    const options = { headers: { authorization: `Bearer ${other.key.secret}` }, agent: agents[1], timeoutMs: 60_000 };
    for (let at = 0; at < GETS; at++) {
      statuses.push((await send(`${trailgate.gatewayUrl}/api/v1/customers`, options)).status);
    }
    return statuses;
  };
  const [statuses, ...said] = await Promise.all([plain(), ...Array.from({ length: FLOODERS }, flood)]);
  expect(statuses).toEqual(Array(GETS).fill(200));
  expect([...new Set(said.flat())].filter((each) => each !== 'cut')).toEqual(['refused']);
  expect(said.flat().filter((each) => each === 'refused').length).toBeGreaterThan((FLOODERS * ROUNDS) / 2);
  // The backend has only seen the requests of the other account.
  expect(backend.requests.map(({ method }) => method)).toEqual(Array(GETS).fill('GET'));
});
