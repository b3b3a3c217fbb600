/**
 * A target of two is killed, frozen or answers garbage under 1,000 requests a second, or as many as this machine can bear.
 * Idempotent requests do not notice once it is out of service, and few before; nothing else reaches a backend twice.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'undici';
import { openLoop, type Shot } from '../support/open-loop.js';
import { eventually, sleep } from '../support/processes.js';
import { startProxied, type Proxied } from '../support/proxied.js';
import { arrivalsOf, startTargetProcess, type TargetProcess } from '../support/target-process.js';

/** What is tried first; halved until this machine keeps up with it while nothing is broken. */
const MOST_PER_SECOND = 1_000;
const SECONDS = 6;
const FIRST_BYTE_MS = 3_000;
const EJECTION_MS = 1_000;
/**
 * What may fail before the target is out: the five in a row that take it out and what ends with them, and the POSTs that it
 * holds at that moment. The GETs that it holds are taken elsewhere.
 */
const MOST_LOST = 40;

let targets: [TargetProcess, TargetProcess];
let gateway: Proxied;
let client: Pool;
let perSecond = MOST_PER_SECOND;

beforeAll(async () => {
  targets = [await startTargetProcess(), await startTargetProcess()];
  gateway = await startProxied({
    targets: targets.map(({ url }) => url),
    config: {
      // All clients have one address here.
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
  // What runs for the first time is slow, and this is not about that.
  client = new Pool(gateway.trailgate.gatewayUrl);
  await openLoop(200, 2, shoot).done;
  while (perSecond > 50 && !(await keepsUp())) perSecond /= 2;
});
afterAll(async () => {
  await gateway.stop();
  for (const target of targets) await target.stop();
});
afterAll(() => client.destroy());

interface Sent {
  readonly line: string;
  /** 0: no answer. */
  readonly status: number;
}

let ids = 0;

/** Every fifth request is a POST with a body, the others are GETs; each has an id of its own. */
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

/** Whether the slowest of a second's requests is far from every deadline. */
async function keepsUp(): Promise<boolean> {
  const shots = await openLoop(perSecond, 1, shoot).done;
  return Math.max(...shots.map(({ durationMs }) => durationMs)) < FIRST_BYTE_MS / 20;
}

const isFailed = ({ result }: Shot<Sent>): boolean => result.status !== 200;
const isPost = ({ result }: Shot<Sent>): boolean => result.line.startsWith('POST');

/** What a test found, for the record. */
function report(what: string, shots: readonly Shot<Sent>[], brokenMs: number, ejectedMs: number): void {
  const failed = shots.filter(isFailed);
  const posts = failed.filter(isPost).length;
  const line = `${what}: out after ${ejectedMs - brokenMs} ms; failed ${failed.length - posts} GET, ${posts} POST of ${shots.length} at ${perSecond}/s`;
  process.stdout.write(`${line}\n`);
}

/** When the log said so for the first time after `sinceMs`. */
function loggedMs(event: string, sinceMs: number): number {
  const line = gateway.trailgate
    .logs()
    .find((each) => each['event'] === event && Date.parse(String(each['time'])) >= sinceMs);
  return line === undefined ? Infinity : Date.parse(String(line['time']));
}

/** Breaks the first target one second into the load. */
async function underLoad(
  what: string,
  breakIt: () => unknown,
): Promise<{ shots: Shot<Sent>[]; brokenMs: number; ejectedMs: number }> {
  const load = openLoop(perSecond, SECONDS, shoot);
  await sleep(1_000);
  const brokenMs = Date.now();
  await breakIt();
  const shots = await load.done;
  const ejectedMs = loggedMs('target_lost', brokenMs);
  report(what, shots, brokenMs, ejectedMs);
  return { shots, brokenMs, ejectedMs };
}

/** The guarantees that hold whatever breaks. */
function expectNoHarm(shots: readonly Shot<Sent>[], ejectedMs: number): void {
  expect(shots).toHaveLength(perSecond * SECONDS);
  const failedGets = shots.filter((shot) => !isPost(shot) && isFailed(shot));
  expect(failedGets.filter(({ startedMs }) => startedMs > ejectedMs)).toEqual([]);
  // What it held when it went out did not fail, either.
  expect(failedGets.filter(({ startedMs, durationMs }) => startedMs + durationMs > ejectedMs + 500)).toEqual([]);
  expect(shots.filter(isFailed).length).toBeLessThanOrEqual(MOST_LOST);
  const counts = arrivalsOf(targets);
  const twice = [...counts].filter(([line, count]) => line.startsWith('POST') && count > 1);
  expect(twice).toEqual([]);
  // What was answered with 200 did arrive.
  expect(shots.filter((shot) => !isFailed(shot) && !counts.has(shot.result.line))).toEqual([]);
}

/** Milliseconds until the first target is served again, while single requests come. */
async function recoveryMs(): Promise<number> {
  const beganMs = performance.now();
  // Not what it held while it was frozen.
  const served = () => targets[0].arrivals.filter((line) => line.includes('recovery')).length;
  const before = served();
  await eventually(
    'the target is served again',
    async () => {
      await gateway.send('/open?recovery');
      return served() > before + 5;
    },
    20_000,
  );
  const tookMs = performance.now() - beganMs;
  process.stdout.write(`back after ${Math.round(tookMs)} ms\n`);
  return tookMs;
}

describe('one of two targets under load', () => {
  it('killed: no idempotent request fails, and it is back in service soon after its return', async () => {
    const { shots, brokenMs, ejectedMs } = await underLoad('killed', () => targets[0].kill9());
    await targets[0].restart();
    expectNoHarm(shots, ejectedMs);
    expect(shots.filter((shot) => !isPost(shot) && isFailed(shot))).toEqual([]);
    expect(ejectedMs - brokenMs).toBeLessThan(1_000);
    // It was probed in vain while it was dead, and each time its rest got longer.
    expect(await recoveryMs()).toBeLessThan(4 * EJECTION_MS + 3_000);
  });

  it('frozen: few requests wait in vain, and once it is out none does', async () => {
    const { shots, brokenMs, ejectedMs } = await underLoad('frozen', () => targets[0].signal('SIGSTOP'));
    targets[0].signal('SIGCONT');
    expectNoHarm(shots, ejectedMs);
    // The time for a first byte, and how late it is noticed.
    expect(ejectedMs - brokenMs).toBeLessThan(FIRST_BYTE_MS + 1_500);
    expect(await recoveryMs()).toBeLessThan(4 * EJECTION_MS + 3_000);
  });

  it('answering garbage: no idempotent request fails', async () => {
    const { shots, ejectedMs } = await underLoad('garbage', () => targets[0].signal('SIGUSR2'));
    targets[0].signal('SIGUSR2');
    expectNoHarm(shots, ejectedMs);
    expect(shots.filter((shot) => !isPost(shot) && isFailed(shot))).toEqual([]);
    expect(ejectedMs).toBeLessThan(Infinity);
    expect(await recoveryMs()).toBeLessThan(4 * EJECTION_MS + 3_000);
  });
});
