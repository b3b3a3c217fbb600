/** Usage counts survive a restart. A clean one keeps all of them, and a kill loses at most the last flush interval. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend, type BackendHandler } from '../support/backend.js';
import { sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';

const FLUSH_MS = 200;
/** Additional time of a flush on a busy machine, in milliseconds. */
const SLACK_MS = 400;

let backend: Backend;
let handler: BackendHandler = json({ ok: true });
let gateway: RunningTrailgate | undefined;

beforeAll(async () => {
  backend = await startBackend((...args) => handler(...args));
});
afterAll(() => backend.stop());
afterEach(async () => {
  handler = json({ ok: true });
  await gateway?.stop();
});

async function start(flushInterval: string, before?: RunningTrailgate): Promise<RunningTrailgate> {
  gateway = await startTrailgate({
    backend: backend.url,
    config: { usage: { flushInterval }, plans: { month: { key: { month: 500 }, account: { month: 1_000 } } } },
    ...(before === undefined ? {} : { dataDir: before.dataDir, adminToken: before.adminToken }),
  });
  return gateway;
}

it('a clean restart keeps monthly usage exactly, even with a long flush interval', async () => {
  let running = await start('10m');
  const { account, key } = await running.admin.newKey('month');
  const other = await running.admin.createKey(account.id);
  const before = [key, other].map(({ secret }) => new Caller(running.gatewayUrl, secret));
  await Promise.all([before[0]?.burst(137), before[1]?.burst(63)]);
  for (const caller of before) caller.close();
  expect((await running.stop()).code).toBe(0);

  running = await start('10m', running);
  const [first, second] = [key, other].map(({ secret }) => new Caller(running.gatewayUrl, secret));
  expect(await first?.used()).toEqual({ 'account-month': 200, 'key-month': 137 });
  expect(await second?.used()).toEqual({ 'account-month': 200, 'key-month': 63 });
  expect(await first?.burst(400)).toEqual({ 200: 363, 429: 37 });
  first?.close();
  second?.close();
});

it('refunds of costs that were already written to the database survive a restart', async () => {
  let running = await start(`${FLUSH_MS}ms`);
  const { key } = await running.admin.newKey('month');
  const before = new Caller(running.gatewayUrl, key.secret);
  expect(await before.burst(10)).toEqual({ 200: 10 });
  handler = async (_request, response) => {
    await sleep(3 * FLUSH_MS);
    response.writeHead(503).end();
  };
  expect(await before.burst(40)).toEqual({ 503: 40 });
  before.close();
  await running.stop();

  running = await start(`${FLUSH_MS}ms`, running);
  const after = new Caller(running.gatewayUrl, key.secret);
  expect(await after.used()).toEqual({ 'account-month': 10, 'key-month': 10 });
  after.close();
});

it('kill -9 loses at most the counts since the last flush, and adds none', async () => {
  let running = await start(`${FLUSH_MS}ms`);
  const { key } = await running.admin.newKey('month');
  const before = new Caller(running.gatewayUrl, key.secret);
  const answeredAtMs: number[] = [];
  const untilMs = performance.now() + 1_500;
  while (performance.now() < untilMs) {
    expect((await before.get()).status).toBe(200);
    answeredAtMs.push(performance.now());
    await sleep(10);
  }
  const killedAtMs = performance.now();
  await running.kill9();
  before.close();

  running = await start(`${FLUSH_MS}ms`, running);
  const after = new Caller(running.gatewayUrl, key.secret);
  const { 'account-month': used = 0 } = await after.used();
  const safe = answeredAtMs.filter((ms) => ms < killedAtMs - FLUSH_MS - SLACK_MS).length;
  expect(safe).toBeGreaterThan(20);
  expect(used).toBeGreaterThanOrEqual(safe);
  expect(used).toBeLessThanOrEqual(answeredAtMs.length);
  after.close();
});
