/** Thousands of unknown keys get 401 in bounded memory, and other clients are still served. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent } from 'node:http';
import { createSecret } from '../../src/keys/api-key-format.js';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send } from '../support/http.js';
import { residentBytes, seriesOf } from '../support/metrics-text.js';
import { expectProblem } from '../support/problem.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

const JUNK_KEYS = 20_000;
const CONNECTIONS = 32;

describe('unknown keys', () => {
  let backend: Backend;
  let gateway: RunningTrailgate;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  beforeAll(async () => {
    backend = await startBackend(json({}));
    gateway = await startTrailgate({ backend: backend.url, env: { LOG_LEVEL: 'warn' } });
  });
  afterAll(async () => {
    agent.destroy();
    await gateway.stop();
    await backend.stop();
  });

  const call = (secret: string) =>
    send(`${gateway.gatewayUrl}/api/v1/customers`, { agent, headers: { Authorization: `Bearer ${secret}` } });
  const metrics = async () => seriesOf((await send(`${gateway.adminUrl}/metrics`)).text);
  const lookUps = async () => (await metrics()).get('trailgate_key_lookups_total{result="database"}') ?? 0;

  /** Sends one request with each key over a few connections. Returns the number of responses by status. */
  async function callWithEach(secrets: readonly string[]): Promise<Map<number, number>> {
    const statuses = new Map<number, number>();
    let next = 0;
    const client = async () => {
      for (let secret = secrets[next++]; secret !== undefined; secret = secrets[next++]) {
        const { status } = await call(secret);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    return statuses;
  }

  it('get 401 after one lookup each, in bounded memory, while a known key is served', async () => {
    const { key } = await gateway.admin.newKey();
    expect((await call(key.secret)).status).toBe(200);
    const junk = Array.from({ length: JUNK_KEYS }, () => createSecret('live'));
    expect(await callWithEach(junk.slice(0, 2_000))).toEqual(new Map([[401, 2_000]]));
    const residentBefore = residentBytes(gateway.pid);
    const lookUpsBefore = await lookUps();

    const rest = callWithEach(junk.slice(2_000));
    const waits: number[] = [];
    for (let done = false; !done;) {
      const startedMs = performance.now();
      expect((await call(key.secret)).status).toBe(200);
      waits.push(performance.now() - startedMs);
      done = await Promise.race([rest.then(() => true), new Promise<false>((again) => setTimeout(again, 50, false))]);
    }
    expect(await rest).toEqual(new Map([[401, JUNK_KEYS - 2_000]]));
    expect(await lookUps()).toBe(lookUpsBefore + JUNK_KEYS - 2_000);
    expect(waits.toSorted((a, b) => a - b)[Math.floor(waits.length / 2)]).toBeLessThan(1_000);
    expect(residentBytes(gateway.pid) - residentBefore).toBeLessThan(150 * 1024 * 1024);

    const series = await metrics();
    expect(series.get('trailgate_key_cache_entries{kind="unknown"}')).toBe(10_000);
    expect(series.get('trailgate_key_cache_entries{kind="known"}')).toBe(1);
    expect(backend.requests).toHaveLength(1 + waits.length);
  });

  it('that are repeated at once are not looked up again', async () => {
    const junk = createSecret('live');
    expectProblem(await call(junk), 'invalid_api_key');
    const before = await lookUps();
    for (let round = 0; round < 50; round++) expectProblem(await call(junk), 'invalid_api_key');
    expect(await lookUps()).toBe(before);
  });

  it('with a wrong checksum are never looked up', async () => {
    const before = await lookUps();
    for (let round = 0; round < 200; round++) {
      const secret = createSecret('live');
      expectProblem(await call(`${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`), 'invalid_api_key');
    }
    expect(await lookUps()).toBe(before);
  });
});
