/**
 * A target that passes its health check while its requests fail stays ejected. The gateway retries it at growing
 * intervals, with requests that another target can answer.
 */
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
/** Response status of the failing target. Its health check always passes. */
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

/** Returns how many trials fit into a time if each pause is twice as long as the previous one. */
function mostTrials(elapsedMs: number, firstMs: number, longestMs: number): number {
  let trials = 0;
  for (let atMs = firstMs, restMs = firstMs; atMs <= elapsedMs; trials++) {
    restMs = Math.min(2 * restMs, longestMs);
    atMs += restMs;
  }
  return trials;
}

/** Sends requests one after the other for the given duration. */
async function watch(path: string, durationMs: number): Promise<{ statuses: number[]; elapsedMs: number }> {
  const statuses: number[] = [];
  const beganMs = performance.now();
  while (performance.now() - beganMs < durationMs) {
    statuses.push((await gateway.send(path)).status);
    await sleep(10);
  }
  return { statuses, elapsedMs: performance.now() - beganMs };
}

describe('with two targets', () => {
  it('the failing one is retried no more often than its doubling pauses allow, and no GET fails', async () => {
    await eventually('the failing target is ejected', async () => {
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

  it('target_lost in the log counts the failed calls by status', () => {
    expect(logged('target_lost', 'backend')[0]).toMatchObject({
      target: sick.url,
      state: 'ejected',
      last: 'answered',
      last_status: 503,
      failed_calls: { 503: FAILURES },
    });
  });

  it('the failing one returns to service after its requests succeed, and no GET fails meanwhile', async () => {
    status = 200;
    const before = callsOf(sick);
    await eventually(
      'the target is back in service',
      async () => {
        expect((await gateway.send('/open')).status).toBe(200);
        return logged('target_back', 'backend').length > 0;
      },
      2 * LONGEST_REST_MS + 5_000,
    );
    await eventually('the target gets requests', async () => {
      await gateway.send('/open');
      return callsOf(sick) > before + 5;
    });
  });
});

describe('a single target', () => {
  it('that fails is retried no more often than its doubling pauses allow, and requests get 503', async () => {
    status = 503;
    await eventually('the failing target is ejected', async () => {
      await gateway.send('/only');
      return logged('target_lost', 'only').length > 0;
    });
    const before = callsOf(sick);
    const { statuses, elapsedMs } = await watch('/only', WATCHED_MS);
    expect(new Set(statuses)).toEqual(new Set([503]));
    expect(callsOf(sick) - before).toBeGreaterThan(1);
    // Allows one more, because the ejection began shortly before the test noticed it.
    expect(callsOf(sick) - before).toBeLessThanOrEqual(1 + mostTrials(elapsedMs, FIRST_REST_MS, LONGEST_REST_MS));
  });
});
