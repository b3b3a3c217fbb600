/** A target that passes its health check while its calls fail stays out: it is tried ever more rarely, with requests that another can answer. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBackend, type Backend } from '../support/backend.js';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';

const FAILURES = 3;
const FIRST_REST_MS = 200;
const LONGEST_REST_MS = 800;
const WATCHED_MS = 2_500;

let gateway: Proxied;
let well: Backend;
let sick: Backend;
/** Status of the failing target for everything but its health check. */
let status: number;

beforeAll(async () => {
  status = 503;
  well = await startBackend((_request, response) => void response.end('well'));
  sick = await startBackend((request, response) => {
    response.writeHead(request.url === '/health' ? 200 : status).end('sick');
  });
  const service = {
    health: { path: '/health', interval: '100ms', timeout: '5s' },
    ejection: { failures: FAILURES, duration: `${FIRST_REST_MS}ms`, longest: `${LONGEST_REST_MS}ms` },
  };
  gateway = await startProxied({
    targets: [well.url, sick.url],
    config: {
      services: { backend: service, only: { ...service, targets: [sick.url] } },
      operations: [{ match: 'GET /only', service: 'only', scopes: [] }],
      plans: { unlimited: { account: { month: 1_000_000 } } },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  await well.stop();
  await sick.stop();
});

const callsOf = ({ requests }: Backend): number => requests.filter(({ url }) => url !== '/health').length;

const logged = (event: string, service: string): Record<string, unknown>[] =>
  gateway.trailgate.logs().filter((line) => line['event'] === event && line['service'] === service);

/** How many trials so much time has room for, when each rest is twice as long as the one before. */
function mostTrials(elapsedMs: number, firstMs: number, longestMs: number): number {
  let trials = 0;
  for (let atMs = firstMs, restMs = firstMs; atMs <= elapsedMs; trials++) {
    restMs = Math.min(2 * restMs, longestMs);
    atMs += restMs;
  }
  return trials;
}

/** Requests one after the other for as long. */
async function watch(path: string, durationMs: number): Promise<{ statuses: number[]; elapsedMs: number }> {
  const statuses: number[] = [];
  const beganMs = performance.now();
  while (performance.now() - beganMs < durationMs) {
    statuses.push((await gateway.send(path)).status);
    await sleep(10);
  }
  return { statuses, elapsedMs: performance.now() - beganMs };
}

describe('of two targets', () => {
  it('the half-sick one is tried once in each doubling rest, and no caller of an idempotent request sees a failure', async () => {
    await eventually('it is out', async () => {
      await gateway.send('/open');
      return logged('target_lost', 'backend').length > 0;
    });
    const before = callsOf(sick);
    const lostMs = Date.parse(String(logged('target_lost', 'backend')[0]?.['time']));
    const { statuses } = await watch('/open', WATCHED_MS);
    const failed = statuses.filter((each) => each !== 200);
    const trials = callsOf(sick) - before;
    expect(failed).toEqual([]);
    expect(trials).toBeGreaterThan(1);
    expect(trials).toBeLessThanOrEqual(mostTrials(Date.now() - lostMs, FIRST_REST_MS, LONGEST_REST_MS));
    expect(logged('target_back', 'backend')).toEqual([]);
  });

  it('the log says with what its calls ended', () => {
    expect(logged('target_lost', 'backend')[0]).toMatchObject({
      target: sick.url,
      state: 'ejected',
      last: 'answered',
      last_status: 503,
      failed_calls: { 503: FAILURES },
    });
  });

  it('the sick one is back when its check passes and a call succeeds', async () => {
    status = 200;
    const before = callsOf(sick);
    await eventually(
      'it is back',
      async () => {
        expect((await gateway.send('/open')).status).toBe(200);
        return logged('target_back', 'backend').length > 0;
      },
      2 * LONGEST_REST_MS + 5_000,
    );
    await eventually('it is used', async () => {
      await gateway.send('/open');
      return callsOf(sick) > before + 5;
    });
  });
});

describe('an only target', () => {
  it('is tried ever more rarely too, up to a bound', async () => {
    status = 503;
    await eventually('it is out', async () => {
      await gateway.send('/only');
      return logged('target_lost', 'only').length > 0;
    });
    const before = callsOf(sick);
    const { statuses, elapsedMs } = await watch('/only', WATCHED_MS);
    expect(new Set(statuses)).toEqual(new Set([503]));
    expect(callsOf(sick) - before).toBeGreaterThan(1);
    // One more: it went out a little before it was known here.
    expect(callsOf(sick) - before).toBeLessThanOrEqual(1 + mostTrials(elapsedMs, FIRST_REST_MS, LONGEST_REST_MS));
  });
});
