/**
 * One of two targets is killed, frozen or answers garbage under load. Few idempotent requests fail before it is
 * ejected, and none afterward. No other request reaches a backend twice.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'undici';
import { openLoop, type Shot } from '../support/open-loop.js';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { arrivalsOf, startTargetProcess, type TargetProcess } from '../support/target-process.js';

const PER_SECOND = 100;
const FIRST_BYTE_MS = 2_000;
const EJECTION_MS = 500;
/**
 * Maximum number of failures before the target is ejected. These are five in a row, others that end with them, and the
 * POSTs that it holds at that moment. Its GETs are retried at the other target.
 */
const MAX_LOST = 40;

let targets: [TargetProcess, TargetProcess];
let gateway: Proxied;
let client: Pool;

beforeAll(async () => {
  targets = [await startTargetProcess(), await startTargetProcess()];
  gateway = await startProxied({
    targets: targets.map(({ url }) => url),
    config: {
      // All clients share one address here.
      gateway: { limits: { connectionsPerAddress: 0 } },
      services: {
        backend: {
          timeouts: { firstByte: `${FIRST_BYTE_MS}ms` },
          ejection: { duration: `${EJECTION_MS}ms`, longest: `${2 * EJECTION_MS}ms` },
          connections: 512,
        },
      },
    },
  });
  // Warms up, because the first requests are slow.
  client = new Pool(gateway.trailgate.gatewayUrl);
  await openLoop(PER_SECOND, 1, shoot).done;
});
afterAll(async () => {
  await gateway.stop();
  for (const target of targets) await target.stop();
});
afterAll(() => client.destroy());

interface Sent {
  readonly line: string;
  /** Status of the response, or 0 without one. */
  readonly status: number;
}

let ids = 0;

/** Sends a request with its own ID. Every fifth is a POST with a body, and the others are GETs. */
async function shoot(index: number): Promise<Sent> {
  const isPost = index % 5 === 0;
  const path = `${isPost ? '/customers' : '/open'}?id=${ids++}`;
  const line = `${isPost ? 'POST' : 'GET'} ${path}`;
  try {
    const { statusCode, body } = await client.request({
      path: `/api/v1${path}`,
      method: isPost ? 'POST' : 'GET',
      headers: { authorization: gateway.authorization },
      ...(isPost ? { body: '{"name":"x"}' } : {}),
    });
    await body.dump();
    return { line, status: statusCode };
  } catch {
    return { line, status: 0 };
  }
}

const isFailed = ({ result }: Shot<Sent>): boolean => result.status !== 200;
const isPost = ({ result }: Shot<Sent>): boolean => result.line.startsWith('POST');

/** Returns the time at which the event was first logged after `sinceMs`, or Infinity. */
function loggedMs(event: string, sinceMs: number): number {
  const line = gateway.trailgate
    .logs()
    .find((each) => each['event'] === event && Date.parse(String(each['time'])) >= sinceMs);
  return line === undefined ? Infinity : Date.parse(String(line['time']));
}

/** Breaks the first target half a second into a load. Resolves once it is ejected and all requests are answered. */
async function underLoad(seconds: number, breakIt: () => unknown): Promise<{ shots: Shot<Sent>[]; ejectedMs: number }> {
  const load = openLoop(PER_SECOND, seconds, shoot);
  await sleep(500);
  const brokenMs = Date.now();
  await breakIt();
  const shots = await load.done;
  await eventually('target_lost is logged', () => loggedMs('target_lost', brokenMs) < Infinity);
  return { shots, ejectedMs: loggedMs('target_lost', brokenMs) };
}

/** Checks the guarantees that hold whatever breaks. */
function expectNoHarm(shots: readonly Shot<Sent>[], ejectedMs: number): void {
  const failedGets = shots.filter((shot) => !isPost(shot) && isFailed(shot));
  expect(failedGets.filter(({ startedMs }) => startedMs > ejectedMs)).toEqual([]);
  // Few requests fail before the ejection.
  expect(shots.filter(isFailed).length).toBeLessThanOrEqual(MAX_LOST);
  const counts = arrivalsOf(targets);
  const twice = [...counts].filter(([line, count]) => line.startsWith('POST') && count > 1);
  expect(twice).toEqual([]);
  // Every request answered with 200 reached a target.
  expect(shots.filter((shot) => !isFailed(shot) && !counts.has(shot.result.line))).toEqual([]);
}

/** Expects the first target to get requests again soon. */
async function expectRecovery(): Promise<void> {
  // Counts only new requests, not those that the target held while it was frozen.
  const served = () => targets[0].arrivals.filter((line) => line.includes('recovery')).length;
  const before = served();
  const isServed = async (): Promise<boolean> => {
    await gateway.send('/open?recovery');
    return served() > before + 5;
  };
  // Each failed trial request has made the ejection longer.
  await eventually('the target is served again', isServed, 4 * EJECTION_MS + 3_000);
}

describe('one of two targets under load', () => {
  it('is killed: no idempotent request fails, and it serves again soon after its restart', async () => {
    const { shots, ejectedMs } = await underLoad(2, () => targets[0].kill9());
    await targets[0].restart();
    expectNoHarm(shots, ejectedMs);
    expect(shots.filter((shot) => !isPost(shot) && isFailed(shot))).toEqual([]);
    await expectRecovery();
  });

  it('is frozen: few requests fail, and no idempotent one after its ejection', async () => {
    const { shots, ejectedMs } = await underLoad(4, () => targets[0].signal('SIGSTOP'));
    targets[0].signal('SIGCONT');
    expectNoHarm(shots, ejectedMs);
    await expectRecovery();
  });

  it('answers garbage: no idempotent request fails, and it serves again soon afterwards', async () => {
    const { shots, ejectedMs } = await underLoad(2, () => targets[0].signal('SIGUSR2'));
    targets[0].signal('SIGUSR2');
    expectNoHarm(shots, ejectedMs);
    expect(shots.filter((shot) => !isPost(shot) && isFailed(shot))).toEqual([]);
    await expectRecovery();
  });
});
