/**
 * A target whose health check fails gets no requests. A service without a healthy target answers 503 at once and
 * recovers without intervention.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { startBackend, type Backend } from '../support/backend.js';
import { quietMsSince } from '../support/machine-time.js';
import { expectProblem } from '../support/problem.js';
import { eventually, freePort } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { Caller } from '../support/rate-limit.js';
import { send } from '../support/http.js';

const INTERVAL_MS = 200;

interface TargetRow {
  readonly service: string;
  readonly target: string;
  readonly address: string | null;
  readonly state: string;
  readonly in_flight: number;
  readonly ejected_until: string | null;
  readonly last_failure: {
    readonly at: string;
    readonly outcome: string;
    readonly backend_status: number | null;
  } | null;
}

let gateway: Proxied;
let backends: [Backend, Backend];
/** Health check status of each backend. */
let health: [number, number];
/** Response status of all other requests. */
let status: number;

async function startOne(index: 0 | 1): Promise<Backend> {
  return startBackend((request, response) => {
    response.writeHead(request.url === '/health' ? health[index] : status).end('ok');
  });
}

beforeAll(async () => {
  health = [200, 200];
  status = 200;
  backends = [await startOne(0), await startOne(1)];
  gateway = await startProxied({
    targets: backends.map(({ url }) => url),
    config: {
      services: {
        backend: { health: { path: '/health', interval: `${INTERVAL_MS}ms`, timeout: '1s' } },
        passive: {
          targets: [backends[0].url, backends[1].url],
          ejection: { failures: 3, duration: '30s' },
        },
        alone: { targets: [`http://127.0.0.1:${await freePort()}`] },
        judged: { targets: [`http://127.0.0.1:${await freePort()}`], ejection: { failures: 2 } },
      },
      operations: [
        { match: 'GET /passive', service: 'passive', scopes: [] },
        { match: 'GET /alone', service: 'alone', scopes: [] },
        { match: 'GET /judged', service: 'judged', scopes: [] },
      ],
      plans: { unlimited: { key: { minute: 10_000 }, account: { month: 10_000 } } },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  for (const backend of backends) await backend.stop();
});
beforeEach(() => {
  health = [200, 200];
  status = 200;
});

async function rows(service: string): Promise<TargetRow[]> {
  const { data } = await gateway.trailgate.admin.call<{ data: TargetRow[] }>('GET', '/targets');
  return data.filter((row) => row.service === service);
}

const states = async (service: string): Promise<string[]> => (await rows(service)).map(({ state }) => state);

const inState = (service: string, ...expected: string[]): Promise<void> =>
  eventually(`${service} is ${expected.join()}`, async () => (await states(service)).join() === expected.join());

const readiness = async (): Promise<{ status: number; backends: unknown }> => {
  const answer = await send(`${gateway.trailgate.adminUrl}/readyz`);
  return { status: answer.status, backends: answer.json<{ checks: Record<string, unknown> }>().checks['backends'] };
};

/** Sends requests and returns how many of them each backend got. */
async function spread(count: number): Promise<[number, number]> {
  for (const backend of backends) backend.requests.length = 0;
  for (let index = 0; index < count; index++) expect((await gateway.send('/open')).status).toBe(200);
  const served = ({ requests }: Backend) => requests.filter(({ url }) => url === '/open').length;
  return [served(backends[0]), served(backends[1])];
}

describe('with active health checks', () => {
  it('both healthy targets get requests and health checks', async () => {
    await inState('backend', 'healthy', 'healthy');
    const [first, second] = await spread(100);
    expect(first + second).toBe(100);
    expect(Math.min(first, second)).toBeGreaterThan(15);
    for (const backend of backends) {
      await eventually('each target gets a health check', () => backend.requests.some(({ url }) => url === '/health'));
      const check = backend.requests.find(({ url }) => url === '/health');
      expect(check).toMatchObject({ method: 'GET', headers: { 'user-agent': 'trailgate-health' } });
    }
  });

  it('a target whose check fails is logged and gets no requests until it is healthy again', async () => {
    await inState('backend', 'healthy', 'healthy');
    health = [503, 200];
    await inState('backend', 'unhealthy', 'healthy');
    expect(await spread(30)).toEqual([0, 30]);
    const lost = gateway.trailgate.logs().findLast(({ event }) => event === 'target_lost');
    expect(lost).toMatchObject({ target: backends[0].url, state: 'unhealthy', check: 'status 503' });
    health = [200, 200];
    await inState('backend', 'healthy', 'healthy');
    expect((await spread(100))[0]).toBeGreaterThan(15);
  });

  it('requests get 503 with Retry-After and use up no limit when all targets fail; none is tried, and /readyz warns', async () => {
    await inState('backend', 'healthy', 'healthy');
    health = [500, 500];
    await inState('backend', 'unhealthy', 'unhealthy');
    for (const backend of backends) backend.requests.length = 0;
    const refused = await gateway.send('/open');
    expectProblem(refused, 'backend_unavailable');
    expect(refused.headers['retry-after']).toMatch(/^[1-3]$/);
    expect(refused.json().detail).toContain('is temporarily unavailable');
    const { key } = await gateway.trailgate.admin.newKey();
    const caller = new Caller(gateway.trailgate.gatewayUrl, key.secret);
    expect(await caller.burst(5)).toEqual({ 503: 5 });
    const uses = async (count: number): Promise<boolean> =>
      isDeepStrictEqual(await caller.used(), { 'key-minute': count, 'account-month': count });
    await eventually('all requests are refunded', () => uses(0));
    expect(backends.flatMap(({ requests }) => requests).filter(({ url }) => url === '/open')).toEqual([]);
    expect(await readiness()).toMatchObject({
      status: 200,
      backends: { status: 'warn', detail: expect.stringMatching(/no target is in service: .*backend/) },
    });
    health = [200, 200];
    await inState('backend', 'healthy', 'healthy');
    expect(await caller.burst(1)).toEqual({ 200: 1 });
    expect(await uses(1)).toBe(true);
    caller.close();
  });
});

describe('without active health checks', () => {
  it('consecutive 503 responses eject both targets, and few trial requests restore the service', async () => {
    status = 503;
    await eventually(
      'both targets are ejected',
      async () => {
        await gateway.send('/passive');
        return (await states('passive')).join() === 'ejected,ejected';
      },
      15_000,
    );
    const row = (await rows('passive'))[0];
    expect(row?.last_failure).toMatchObject({ outcome: 'answered', backend_status: 503 });
    expect(Date.parse(row?.ejected_until ?? '')).toBeGreaterThan(Date.now() + 20_000);
    for (const backend of backends) backend.requests.length = 0;
    const answers = await Promise.all(Array.from({ length: 50 }, () => gateway.send('/passive')));
    for (const answer of answers) expectProblem(answer, 'backend_unavailable');
    expect(backends.flatMap(({ requests }) => requests).filter(({ url }) => url === '/passive').length).toBeLessThan(5);
    status = 200;
    const beganMs = performance.now();
    await eventually('a request succeeds again', async () => (await gateway.send('/passive')).status === 200);
    expect(quietMsSince(beganMs)).toBeLessThan(3_000);
    await eventually('both targets are back in service', async () => {
      await gateway.send('/passive');
      return (await states('passive')).includes('healthy');
    });
  });

  it('responses with status 500 eject no target', async () => {
    await eventually('all targets are healthy', async () => {
      await gateway.send('/passive');
      return (await states('passive')).includes('healthy');
    });
    const before = await states('passive');
    status = 500;
    for (let index = 0; index < 20; index++) await gateway.send('/passive');
    expect(await states('passive')).toEqual(before);
  });

  it('a single target is tried for every request, unless ejection is configured', async () => {
    for (let index = 0; index < 10; index++) expectProblem(await gateway.send('/alone'), 'backend_unreachable');
    expect(await rows('alone')).toMatchObject([{ state: 'failing', last_failure: { outcome: 'unreachable' } }]);
    await eventually('the other target is ejected', async () => {
      await gateway.send('/judged');
      return (await states('judged')).join() === 'ejected';
    });
    expectProblem(await gateway.send('/judged'), 'backend_unavailable');
  });
});

it('GET /admin/v1/targets without a token gets 401', async () => {
  expect((await send(`${gateway.trailgate.adminUrl}/admin/v1/targets`)).status).toBe(401);
});
