/** A process without free file descriptors blames no target, reports the shortage, and serves open connections. */
import { Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { canLimitDescriptors, limitDescriptors, lowestFreeDescriptor } from '../support/descriptors.js';
import { describeUnless } from '../support/describe-with.js';
import { send, type Answer } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { expectProblem } from '../support/problem.js';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type OwnProxied } from '../support/proxied.js';

const CLIENTS = 12;
const ENOUGH = 4_096;
const CHECK_INTERVAL_MS = 100;

const describeWithLimits = describeUnless(canLimitDescriptors ? null : 'needs prlimit of util-linux');

let backend: Backend;
let agent: Agent;

beforeAll(async () => {
  // Closes connections, so that each call needs a new one.
  backend = await startBackend((_request, response) => {
    response.writeHead(200, { connection: 'close' }).end('well');
  });
});
afterAll(() => backend.stop());
beforeEach(() => void (agent = new Agent({ keepAlive: true, maxSockets: CLIENTS })));
afterEach(() => agent.destroy());

/** Sends a request. After `connected`, it uses an existing connection. */
const ask = (gateway: OwnProxied, path = '/open', method = 'GET'): Promise<Answer> =>
  gateway.send(path, { agent, method, ...(method === 'POST' ? { body: '{}' } : {}) });

/** Opens the connections of all clients. They stay open for the next requests. */
async function connected(gateway: OwnProxied): Promise<void> {
  const slow = Array.from({ length: CLIENTS }, () => ask(gateway));
  for (const answer of await Promise.all(slow)) expect(answer.status).toBe(200);
  const sockets = Object.values(agent.freeSockets).flat().length;
  expect(sockets).toBe(CLIENTS);
}

const events = (gateway: OwnProxied, event: string): Record<string, unknown>[] =>
  gateway.trailgate.logs().filter((line) => line['event'] === event);

const metric = async (gateway: OwnProxied, series: string): Promise<number | undefined> =>
  seriesOf((await send(`${gateway.trailgate.adminUrl}/metrics`)).text).get(series);

describeWithLimits('without a file descriptor for a backend', () => {
  let gateway: OwnProxied;
  beforeAll(async () => {
    const { port } = backend;
    const service = {
      health: { path: '/health', interval: `${CHECK_INTERVAL_MS}ms`, timeout: '5s', unhealthyAfter: 2 },
      ejection: { failures: 2 },
    };
    gateway = await startProxied({
      own: true,
      targets: backend.url,
      config: {
        services: { backend: service, named: { ...service, targets: [`http://localhost:${port}`] } },
        operations: [{ match: 'GET /named', service: 'named', scopes: [] }],
        plans: { unlimited: { account: { month: 10_000 } } },
      },
    });
  });
  afterAll(() => gateway.stop());
  afterEach(() => limitDescriptors(gateway.trailgate.pid, ENOUGH));

  const used = async (): Promise<number | undefined> =>
    (await gateway.send('/usage')).json<{ windows: { used: number }[] }>().windows[0]?.used;

  it.each([
    ['to an address', '/open', 'GET'],
    ['to a name', '/named', 'GET'],
    ['by POST', '/customers', 'POST'],
  ])(
    'a request %s is refused as gateway_overloaded and not counted, and its target stays healthy',
    async (_what, path, method) => {
      const { pid } = gateway.trailgate;
      await connected(gateway);
      const before = await used();
      const refusals = 'trailgate_refusals_total{code="gateway_overloaded",fault="gateway"}';
      const refusedBefore = (await metric(gateway, refusals)) ?? 0;
      await sleep(2 * CHECK_INTERVAL_MS);
      // Sends requests for long enough to include several health checks.
      const answers: Answer[] = [];
      let cutOff = 0;
      for (let round = 0; round < 12; round++) {
        // Lowers the limit in each round, because the process may have closed descriptors meanwhile.
        limitDescriptors(pid, lowestFreeDescriptor(pid));
        const asked = Array.from({ length: CLIENTS }, () => ask(gateway, path, method).catch(() => undefined));
        // A connection that was closed cannot be opened again.
        const answered = (await Promise.all(asked)).filter((answer) => answer !== undefined);
        cutOff += CLIENTS - answered.length;
        answers.push(...answered);
        await sleep(CHECK_INTERVAL_MS);
      }
      limitDescriptors(pid, ENOUGH);
      expect(cutOff).toBeLessThan(CLIENTS);
      const refused = answers.filter(({ status }) => status !== 200);
      expect(refused.length).toBeGreaterThan(answers.length / 2);
      for (const answer of refused) {
        expectProblem(answer, 'gateway_overloaded');
        expect(answer.headers['retry-after']).toMatch(/^[1-3]$/);
        expect(answer.headers['x-should-retry']).toBe('true');
        expect(answer.headers['ratelimit']).toMatch(/^"account-month";r=\d+;t=\d+$/);
      }
      const { data } = await gateway.trailgate.admin.call<{ data: unknown[] }>('GET', '/targets');
      expect(data).toMatchObject([
        { state: 'healthy', last_failure: null },
        { state: 'healthy', last_failure: null },
      ]);
      expect(events(gateway, 'target_lost')).toEqual([]);
      expect((await ask(gateway, path, method)).status).toBe(200);
      expect(await metric(gateway, refusals)).toBe(refusedBefore + refused.length);
      expect(await used()).toBe((before ?? 0) + answers.length - refused.length + 1);
    },
  );

  it('the shortage is logged at most once every 9 seconds, and counted in a metric', async () => {
    await eventually('out_of_resources is logged', () => events(gateway, 'out_of_resources').length > 0);
    const told = events(gateway, 'out_of_resources');
    expect(told[0]).toMatchObject({ level: 'error', resource: 'file_descriptors' });
    const times = told.map(({ time }) => Date.parse(String(time)));
    const pausesMs = times.slice(1).map((timeMs, index) => timeMs - (times[index] ?? 0));
    expect(pausesMs.filter((pauseMs) => pauseMs < 9_000)).toEqual([]);
    expect(events(gateway, 'request_failed')).toEqual([]);
    const noted = await metric(gateway, 'trailgate_out_of_resources_total{resource="file_descriptors"}');
    expect(noted).toBeGreaterThan(told.length);
    const ends = 'trailgate_upstream_target_calls_total';
    expect(
      await metric(gateway, `${ends}{service="backend",target="${backend.url}",outcome="out_of_resources",status=""}`),
    ).toBeGreaterThan(0);
  });
});

describeWithLimits('without file descriptors for clients', () => {
  const LIMIT = 200;
  let gateway: OwnProxied;
  let flood: Socket[];
  beforeAll(async () => {
    gateway = await startProxied({
      own: true,
      targets: backend.url,
      descriptors: LIMIT,
      config: { services: { backend: { ejection: { failures: 2 } } } },
    });
  });
  beforeEach(() => void (flood = []));
  afterEach(() => flood.forEach((socket) => socket.destroy()));
  afterAll(() => gateway.stop());

  it('a low limit is logged at the start', () => {
    expect(events(gateway, 'few_file_descriptors')).toMatchObject([
      { level: 'warn', limit: LIMIT, for_clients: LIMIT - LIMIT / 8, connections: 16_384 },
    ]);
  });

  it('new connections are closed and counted, and existing ones are still served', async () => {
    await connected(gateway);
    let closed = 0;
    for (let count = 0; count < 2 * LIMIT; count++) {
      const socket = connect(gateway.port, '127.0.0.1');
      flood.push(socket.on('error', () => undefined).on('close', () => closed++));
    }
    await eventually('all connections beyond the limit are closed', () => closed >= LIMIT);
    const answers = await Promise.all(Array.from({ length: CLIENTS }, () => ask(gateway)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const cut = await metric(gateway, 'trailgate_connections_cut_total{reason="file_descriptors"}');
    expect(cut).toBeGreaterThanOrEqual(LIMIT);
    await eventually('out_of_resources is logged', () => events(gateway, 'out_of_resources').length > 0);
    expect(events(gateway, 'out_of_resources')[0]).toMatchObject({ resource: 'file_descriptors', where: 'accept' });
    expect(events(gateway, 'target_lost')).toEqual([]);
  });
});

describeWithLimits('if the system closes new connections itself', () => {
  it('the shortage is still logged and counted', async () => {
    const gateway = await startProxied({ own: true, targets: backend.url });
    const { pid } = gateway.trailgate;
    await eventually('out_of_resources is logged', () => {
      // Lowers the limit repeatedly, because the process may have closed descriptors meanwhile.
      limitDescriptors(pid, lowestFreeDescriptor(pid));
      return events(gateway, 'out_of_resources').length > 0;
    });
    expect(events(gateway, 'out_of_resources')[0]).toMatchObject({ resource: 'file_descriptors', where: 'accept' });
    limitDescriptors(pid, ENOUGH);
    expect(await metric(gateway, 'trailgate_out_of_resources_total{resource="file_descriptors"}')).toBeGreaterThan(0);
    await gateway.stop();
  });
});
