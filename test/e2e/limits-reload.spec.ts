/** Limits that change while the program runs apply to new connections and requests. Open connections are not cut. */
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { json } from '../support/backend.js';
import { send } from '../support/http.js';
import { quietMsSince } from '../support/machine-time.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually } from '../support/processes.js';
import { mergePatch, type Json } from '../support/program-config.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

let gateway: OwnProxied;
let sockets: Socket[] = [];

beforeAll(async () => {
  gateway = await startProxied({ own: true, config: { gateway: { limits: { connections: 20 } } } });
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets = [];
});
afterAll(() => gateway.stop());

let changes = 0;

/**
 * Merges a patch into the file and waits until it is active. Adds a plan with a new name, by which the log shows that
 * the program has loaded this version of the file.
 */
async function change(patch: Json): Promise<void> {
  const { configPath } = gateway.trailgate;
  const plan = `change-${++changes}`;
  const marked = mergePatch(parse(readFileSync(configPath, 'utf8')), { ...patch, plans: { [plan]: {} } });
  writeFileSync(configPath, stringify(marked));
  gateway.trailgate.signal('SIGHUP');
  const isInForce = ({ event, plans }: Record<string, unknown>): boolean =>
    event === 'config_changed' && (plans as string[]).includes(plan);
  await eventually('the change applies', () => gateway.trailgate.logs().some(isInForce));
}

/** Sends a request to an unknown path. Resolves when a response arrives or the connection closes. */
function isKeptOrClosed(socket: Socket): Promise<unknown> {
  return new Promise((done) => {
    socket.on('close', done).once('data', done).write('GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n');
  });
}

/** Opens connections. Resolves once the gateway has kept or closed each of them. */
async function openConnections(count: number): Promise<Socket[]> {
  const opened = Array.from({ length: count }, () => connect(gateway.port, '127.0.0.1').on('error', () => {}));
  sockets.push(...opened);
  await Promise.all(opened.map((socket) => isKeptOrClosed(socket)));
  return opened;
}

const kept = (all: readonly Socket[]): number => all.filter((socket) => !socket.closed).length;

/** Returns how many connections have been closed for a reason so far. */
const cuts = async (reason: string): Promise<number> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get(
    `trailgate_connections_cut_total{reason="${reason}"}`,
  ) ?? 0;

it('a reloaded connection limit applies to new connections, and open ones are kept', async () => {
  const first = await openConnections(22);
  expect(kept(first)).toBe(20);
  expect(await cuts('limit')).toBe(2);
  await expect(gateway.send('/open')).rejects.toThrow(/ECONNRESET|socket hang up/);
  await change({ gateway: { limits: { connections: 25 } } });
  expect(kept(await openConnections(7))).toBe(5);
  await change({ gateway: { limits: { connections: 10 } } });
  expect(kept(await openConnections(3))).toBe(0);
  expect(kept(sockets)).toBe(25);
  await change({ gateway: { limits: { connections: 1_000 } } });
});

it('a reloaded limit per address counts earlier connections too, and open ones are kept', async () => {
  const before = await openConnections(4);
  await change({ gateway: { limits: { connectionsPerAddress: 6 } } });
  expect(kept(await openConnections(5))).toBe(2);
  expect(await cuts('address_limit')).toBe(3);
  await change({ gateway: { limits: { connectionsPerAddress: 3 } } });
  expect([kept(before), kept(sockets)]).toEqual([4, 6]);
  expect(kept(await openConnections(1))).toBe(0);
  await change({ gateway: { limits: { connectionsPerAddress: 0 } } });
  expect(kept(await openConnections(10))).toBe(10);
  await change({ gateway: { limits: { connectionsPerAddress: 17 } } });
  expect(kept(await openConnections(3))).toBe(1);
  await eventually('17 connections are kept', async () => {
    // Also closes the connections of earlier attempts that were refused.
    for (const socket of sockets) socket.destroy();
    sockets = [];
    return kept(await openConnections(17)) === 17;
  });
  await change({ gateway: { limits: { connectionsPerAddress: 0 } } });
});

it('the connection limit per address does not apply to a trusted proxy', async () => {
  const limits = { connectionsPerAddress: 5 };
  const trusting = await startProxied({ config: { gateway: { limits, trustedProxies: ['127.0.0.0/8'] } } });
  sockets = Array.from({ length: 8 }, () => connect(trusting.port, '127.0.0.1').on('error', () => {}));
  await Promise.all(sockets.map((socket) => isKeptOrClosed(socket)));
  expect(kept(sockets)).toBe(8);
  await trusting.stop();
});

it('a reloaded limit of requests per connection applies to open connections and pipelined requests', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const connection = async (): Promise<string | undefined> =>
    (await gateway.send('/open', { agent })).headers.connection;
  expect([await connection(), await connection()]).toEqual(['keep-alive', 'keep-alive']);
  await change({ gateway: { limits: { requestsPerConnection: 3 } } });
  expect([await connection(), await connection()]).toEqual(['close', 'keep-alive']);
  const request = `GET /api/v1/open HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.authorization}\r\n\r\n`;
  const before = gateway.backend.requests.length;
  const answers = (await gateway.raw(request.repeat(5), 2_000)).split('HTTP/1.1 ').slice(1);
  expect(answers.map((answer) => [answer.slice(0, 3), /Connection: close/i.test(answer)])).toEqual([
    ['200', false],
    ['200', false],
    ['200', true],
  ]);
  expect(gateway.backend.requests).toHaveLength(before + 3);
  await change({ gateway: { limits: { requestsPerConnection: 0 } } });
  expect([await connection(), await connection(), await connection()]).not.toContain('close');
  agent.destroy();
});

it('a reloaded limit of failed attempts applies to failures already counted, and 0 disables it', async () => {
  const statusWith = async (authorization: string): Promise<number> =>
    (await send(`${gateway.url}/open`, { headers: { authorization } })).status;
  const wrong = (): Promise<number> => statusWith('Bearer junk');
  const right = (): Promise<number> => statusWith(gateway.authorization);
  await change({ gateway: { failedAuthentication: { perMinute: 3 } } });
  expect([await wrong(), await right()]).toEqual([401, 200]);
  await change({ gateway: { failedAuthentication: { perMinute: 0 } } });
  expect([await right(), await wrong(), await right()]).toEqual([200, 401, 200]);
  await change({ gateway: { failedAuthentication: { perMinute: 3 } } });
  expect([await wrong(), await wrong(), await right()]).toEqual([401, 401, 200]);
  await change({ gateway: { failedAuthentication: { perMinute: 2 } } });
  expect([await right(), await wrong()]).toEqual([429, 429]);
  await change({ gateway: { failedAuthentication: { perMinute: 4 } } });
  expect([await right(), await wrong(), await wrong(), await right()]).toEqual([200, 401, 401, 429]);
  await change({ gateway: { failedAuthentication: { perMinute: 0 } } });
  expect([await right(), await wrong(), await right()]).toEqual([200, 401, 200]);
});

it('a reloaded body size limit and a reloaded timeout of a service apply to the next request', async () => {
  const upload = async (): Promise<number> =>
    (await gateway.send('/files/a', { method: 'PUT', body: 'x'.repeat(5_000) })).status;
  expect(await upload()).toBe(200);
  await change({ services: { backend: { maxBodyBytes: '4KiB' } } });
  expect(await upload()).toBe(413);
  gateway.answerWith((_request, response) => void setTimeout(() => response.end('late'), 600));
  expect((await gateway.send('/open')).text).toBe('late');
  await change({ services: { backend: { maxBodyBytes: '8KiB', timeouts: { firstByte: '200ms' } } } });
  expect((await gateway.send('/open')).status).toBe(504);
  gateway.answerWith(json({ ok: true }));
  expect(await upload()).toBe(200);
});

it('a reload keeps trustedProxies and logs that it needs a restart, and shutdown uses the reloaded drain time', async () => {
  await change({
    gateway: { trustedProxies: ['127.0.0.0/8'], shutdown: { drain: '300ms' }, limits: { connections: 900 } },
  });
  const restart = gateway.trailgate.logs().filter(({ event }) => event === 'config_needs_restart');
  // The event is logged each time the program reads the file.
  expect(new Set(restart.map(({ settings }) => String(settings)))).toEqual(new Set(['gateway.trustedProxies']));
  await gateway.send('/open', { headers: { 'X-Forwarded-For': '203.0.113.7' } });
  expect(gateway.backend.requests.at(-1)?.headers['x-forwarded-for']).toBe('127.0.0.1');
  gateway.answerWith(() => undefined);
  const cut = gateway.send('/open').catch((error: unknown) => error);
  await eventually('the backend gets the request', () => gateway.backend.requests.length === 1);
  const startedMs = performance.now();
  expect(await gateway.trailgate.stop()).toEqual({ code: 0, signal: null });
  expect(quietMsSince(startedMs)).toBeLessThan(5_000);
  await cut;
});
