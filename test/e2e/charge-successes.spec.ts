/** A plan with `charge: successes` reserves the cost at the decision, and refunds it if the response is an error. */
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startBackend, type Backend, type BackendHandler } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { openRequest } from '../support/http.js';
import { eventually } from '../support/processes.js';
import type { TrailgateOptions } from '../support/program.js';
import { Caller, policiesOf } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';
import { startNodes } from '../support/worlds.js';

const LIMIT = 10;
const windows = (limit: number) => ({ minute: limit, month: limit });
const plans = {
  // Without `closed`, each node would give out its own share when a slow machine makes Redis miss its deadline.
  exact: { key: windows(LIMIT), account: windows(LIMIT), charge: 'successes', onRedisLoss: 'closed' },
  wide: { key: windows(1_000), account: windows(2_000), charge: 'successes' },
  all: { account: windows(1_000) },
};
const all = (used: number) => ({
  'key-minute': used,
  'account-minute': used,
  'account-month': used,
  'key-month': used,
});

function suite(start: (options: TrailgateOptions) => Promise<SharedTrailgate[]>): void {
  let handler: BackendHandler;
  let backend: Backend;
  let gateways: SharedTrailgate[] = [];
  let callers: Caller[] = [];

  beforeAll(async () => {
    backend = await startBackend((...args) => handler(...args));
    const config = {
      plans,
      services: { speaks: { targets: [backend.url], authenticates: true } },
      operations: [
        { match: 'GET /speaks', service: 'speaks', scopes: [] },
        { match: 'GET /costly', service: 'backend', scopes: [], cost: 5 },
      ],
    };
    gateways = await start({ backend: backend.url, config });
  });
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await backend.stop();
  });

  /** Creates a key, and a caller with that key for each node. */
  async function callersOn(plan: keyof typeof plans): Promise<Caller[]> {
    const { key } = await gateways[0]!.admin.newKey(plan);
    callers = gateways.map((gateway) => new Caller(gateway.gatewayUrl, key.secret));
    return callers;
  }
  beforeEach(() => {
    handler = (_request, response) => void response.writeHead(200).end();
    for (const caller of callers) caller.close();
    callers = [];
  });

  it('holds in-flight and successful requests of 50 clients to the limit while half of them fail', async () => {
    await callersOn('exact');
    let arrived = 0;
    let inFlight = 0;
    let most = 0;
    let succeeded = 0;
    handler = async (_request, response) => {
      const status = arrived++ % 2 === 0 ? 422 : 200;
      most = Math.max(most, ++inFlight + succeeded);
      await pause(5 + (arrived % 20));
      inFlight -= 1;
      if (status === 200) succeeded += 1;
      response.writeHead(status).end();
    };
    const seen: Record<number, number> = {};
    const until = performance.now() + 8_000;
    const client = async (index: number): Promise<void> => {
      while (succeeded < LIMIT && performance.now() < until) {
        const { status } = await callers[index % callers.length]!.get('/open');
        seen[status] = (seen[status] ?? 0) + 1;
        if (status === 429 || status === 503) await pause(20);
      }
    };
    await Promise.all(Array.from({ length: 50 }, (_, index) => client(index)));
    expect(most).toBe(LIMIT);
    const wasLost = gateways.flatMap((gateway) => gateway.logs()).some(({ event }) => event === 'quota_store_lost');
    const { 503: whileLost, ...usual } = seen;
    expect(whileLost === undefined || wasLost).toBe(true);
    expect(Object.keys(usual)).toEqual(['200', '422', '429']);
    expect(seen[200]).toBe(LIMIT);
    await eventually('failed requests are refunded', async () => {
      return JSON.stringify(await callers[0]!.used()) === JSON.stringify(all(LIMIT));
    });
    expect((await callers[0]!.get('/open')).status).toBe(429);
  });

  it.each([
    ['/open', 400],
    ['/open', 404],
    ['/open', 409],
    ['/open', 429],
    ['/open', 500],
    ['/open', 503],
    ['/open', 401], // becomes a 502 for the client
    ['/speaks', 401],
    ['/speaks', 403],
    ['/costly', 422],
  ])('on %s a response with %i costs nothing in any window, as its own fields show', async (path, status) => {
    const [caller] = await callersOn('wide');
    handler = (_request, response) => void response.writeHead(status).end();
    const answer = await caller!.get(path);
    expect(answer.status).toBe(path === '/open' && status === 401 ? 502 : status);
    expect(policiesOf(answer).map(({ q, r }) => q - r)).toEqual([0, 0, 0, 0]);
    await eventually('the cost is refunded', async () => (await caller!.used())['key-month'] === 0);
    expect(await caller!.used()).toEqual(all(0));
  });

  it.each([200, 204, 301, 304])('a response with %i is charged', async (status) => {
    const [caller] = await callersOn('wide');
    handler = (_request, response) => void response.writeHead(status).end();
    expect((await caller!.get('/open')).status).toBe(status);
    expect(await caller!.used()).toEqual(all(1));
  });

  it('a large error body that is cut off is refunded once', async () => {
    const [caller] = await callersOn('wide');
    expect((await caller!.get('/open')).status).toBe(200);
    handler = (_request, response) => void response.writeHead(400).end(Buffer.alloc(1024 * 1024, 'x'));
    expect((await caller!.get('/open')).status).toBe(400);
    await pause(100);
    expect(await caller!.used()).toEqual(all(1));
  });

  it('a client that disconnects before or during the response is charged', async () => {
    const [caller] = await callersOn('wide');
    const { key } = await gateways[0]!.admin.newKey('wide');
    const leaver = new Caller(gateways[0]!.gatewayUrl, key.secret);
    for (const begin of [false, true]) {
      const before = backend.requests.length;
      handler = (_request, response) => {
        if (begin) response.writeHead(200).write('the first half');
      };
      const headers = { Authorization: `Bearer ${key.secret}` };
      const request = openRequest(`${gateways[0]!.gatewayUrl}/api/v1/open`, { headers }).end();
      request.on('error', () => {});
      if (begin) await once(request, 'response');
      await eventually('the backend gets the request', () => backend.requests.length > before);
      request.destroy();
      await eventually('the backend call is aborted', () => backend.requests.at(-1)!.aborted);
    }
    await pause(100);
    expect(await leaver.used()).toEqual(all(2));
    expect(await caller!.used()).toEqual(all(0));
    leaver.close();
  });

  it('a plan without `charge` counts 4xx responses', async () => {
    const [caller] = await callersOn('all');
    handler = (_request, response) => void response.writeHead(422).end();
    expect((await caller!.get('/open')).status).toBe(422);
    expect(await caller!.used()).toEqual({ 'account-minute': 1, 'account-month': 1 });
  });
}

describe('charge: successes with counters in the process:', () => {
  suite(async (options) => [await acquireTrailgate(options)]);
});

describeWithRedis('charge: successes with counters in Redis and two nodes:', () => {
  suite(async (options) => {
    const shared = { ...options, env: { REDIS_URL: await sharedRedisUrl() } };
    return startNodes(2, shared);
  });
});
