/** A request that fails because of the gateway or the backend costs nothing in any window, with both counter stores. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  json,
  startBackend,
  startRawBackend,
  type Backend,
  type BackendHandler,
  type RawBackend,
} from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { eventually, freePort } from '../support/processes.js';
import { testOpenapi } from '../support/program-config.js';
import { Caller } from '../support/rate-limit.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const COST = 5;
const PLAN = { key: { minute: 1_000, month: 5_000 }, account: { minute: 2_000, month: 10_000 } };

/** Services, each at the path of its name. `told` runs `handler`, and the others are unreachable or misbehave. */
const SERVICES = ['told', 'dead', 'reset', 'garbage', 'silent'] as const;

function suite(redis: boolean): void {
  let told: Backend;
  const raw: RawBackend[] = [];
  let handler: BackendHandler = json({ ok: true });
  let gateway: SharedTrailgate;
  let caller: Caller;

  beforeAll(async () => {
    told = await startBackend((...args) => handler(...args));
    raw.push(
      await startRawBackend((socket) => socket.once('data', () => socket.resetAndDestroy())),
      await startRawBackend((socket) => socket.once('data', () => socket.end('SMTP 220 hello\r\n\r\n'))),
      await startRawBackend(() => {}),
    );
    const urls = [told.url, `http://127.0.0.1:${await freePort()}`, ...raw.map(({ url }) => url)];
    const services = Object.fromEntries(
      SERVICES.map((name, index) => [name, { targets: [urls[index]], timeouts: { firstByte: '300ms' } }]),
    );
    gateway = await acquireTrailgate({
      backend: told.url,
      redis,
      openapi: testOpenapi,
      config: {
        services,
        plans: { give: PLAN },
        operations: SERVICES.map((service) => ({ match: `GET /${service}`, service, scopes: [], cost: COST })),
      },
    });
    const { key } = await gateway.admin.newKey('give');
    caller = new Caller(gateway.gatewayUrl, key.secret);
  });
  afterAll(async () => {
    caller.close();
    await gateway.stop();
    await Promise.all([told, ...raw].map((backend) => backend.stop()));
  });

  const all = (used: number) => ({
    'key-minute': used,
    'account-minute': used,
    'account-month': used,
    'key-month': used,
  });

  it.each([
    ['dead', 502, 'backend_unreachable'],
    ['reset', 502, 'backend_bad_response'],
    ['garbage', 502, 'backend_bad_response'],
    ['silent', 504, 'backend_timeout'],
  ])('get the cost back in every window when the %s backend causes a %i', async (service, status, code) => {
    const before = await caller.used();
    const answers = await Promise.all(Array.from({ length: 10 }, () => caller.get(`/${service}`)));
    expect(answers.map((answer) => [answer.status, answer.json()['code']])).toEqual(answers.map(() => [status, code]));
    await eventually('the costs are refunded', async () => {
      return JSON.stringify(await caller.used()) === JSON.stringify(before);
    });
  });

  it.each([502, 503, 504])('get the cost back in every window when the backend answers %i', async (status) => {
    handler = json({}, status);
    const before = await caller.used();
    expect(await caller.burst(10, '/told')).toEqual({ [status]: 10 });
    await eventually('the costs are refunded', async () => {
      return JSON.stringify(await caller.used()) === JSON.stringify(before);
    });
  });

  it.each([200, 204, 400, 404, 409, 422, 429, 500])('keep the cost of a backend answer of %i', async (status) => {
    handler = (_request, response) => void response.writeHead(status).end();
    const { 'key-minute': before = NaN } = await caller.used();
    expect(await caller.burst(3, '/told')).toEqual({ [status]: 3 });
    expect(await caller.used()).toEqual(all(before + 3 * COST));
  });

  it('never run out for a key whose requests all fail', async () => {
    const { key } = await gateway.admin.newKey('give');
    const failing = new Caller(gateway.gatewayUrl, key.secret);
    for (let round = 0; round < 3; round++) {
      expect(await failing.burst(150, '/dead')).toEqual({ 502: 150 });
      await eventually('the costs are refunded', async () => (await failing.used())['key-minute'] === 0);
    }
    failing.close();
  });
}

describe('quota counters in the process', () => {
  suite(false);
});

describeWithRedis('quota counters in Redis', () => {
  suite(true);
});
