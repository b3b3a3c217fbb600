/**
 * Settings for `Idempotency-Key`: whether the gateway or the backend handles it, and for how long. Covers events,
 * workers, browsers and configuration changes.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { childrenOf, WORKER } from '../support/child-processes.js';
import { describeWithRedis } from '../support/describe-with.js';
import { EMITTING } from '../support/emitting.js';
import { send } from '../support/http.js';
import { makesCustomer, startKeyedWorld, type KeyedWorld } from '../support/keyed.js';
import { expectProblem } from '../support/problem.js';
import { eventually } from '../support/processes.js';
import { startTrailgate } from '../support/program.js';
import { testOpenapi, type Json } from '../support/program-config.js';
import { limitFieldsOf } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';
import { TurnedClock } from '../support/turned-clock.js';
import { openDatabase } from '../../src/stores/database/connect.js';

let world: KeyedWorld;
afterEach(() => world.stop());

/** Sends the same request twice. @returns how often the backend carried it out. */
async function sendTwice(key = randomUUID(), options = {}): Promise<number> {
  await world.post(key, options);
  await world.post(key, options);
  return world.carriedOut(key);
}

describe('an Idempotency-Key', () => {
  it('is passed to the backend unchanged, even if invalid, when the service sets idempotency: backend', async () => {
    world = await startKeyedWorld('SQLite', { config: { services: { backend: { idempotency: 'backend' } } } });
    expect(await sendTwice()).toBe(2);
    for (const odd of ['a"b', 'x'.repeat(300)]) {
      expect((await world.post(odd)).status).toBe(201);
      expect(world.backend.requests.at(-1)?.headers['idempotency-key']).toBe(odd);
    }
  });

  it('is left to a backend whose OpenAPI document declares it, unless the operation sets gateway', async () => {
    const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } };
    const openapi = structuredClone(testOpenapi) as unknown as { paths: Record<string, Record<string, Json>> };
    for (const [path, method] of [
      ['/customers', 'post'],
      ['/customers/{id}', 'patch'],
    ] as const)
      openapi.paths[path]![method] = { ...openapi.paths[path]![method], parameters: [key] };
    const operations = [{ match: 'PATCH /customers/{id}', idempotency: 'gateway' }];
    world = await startKeyedWorld('SQLite', { openapi: openapi as unknown as Json, config: { operations } });
    expect(await sendTwice()).toBe(2);
    expect(await sendTwice(randomUUID(), { method: 'PATCH', to: '/customers/cus_1' })).toBe(1);
    const described = await send(`${world.gateways[0]!.gatewayUrl}/api/v1/openapi.json`);
    const { paths } = described.json<{
      paths: Record<string, Record<string, { parameters: unknown[]; responses: object }>>;
    }>();
    // Each operation documents the header once, as described by the backend or by the gateway.
    expect(paths['/customers']!['post']!.parameters).toEqual([expect.objectContaining({ name: 'Idempotency-Key' })]);
    expect(paths['/customers/{id}']!['patch']!.parameters).toEqual([
      expect.objectContaining({ name: 'id' }),
      { $ref: '#/components/parameters/IdempotencyKey' },
    ]);
    expect(Object.keys(paths['/customers/{id}']!['patch']!.responses)).toEqual(expect.arrayContaining(['409', '422']));
    expect(Object.keys(paths['/customers']!['post']!.responses)).not.toContain('409');
  });

  it('is handled as a changed configuration says, and stored responses survive the change', async () => {
    world = await startKeyedWorld('SQLite');
    const [gateway] = world.gateways;
    const key = randomUUID();
    expect(await sendTwice(key)).toBe(1);
    const file = parse(readFileSync(gateway!.configPath, 'utf8')) as { services: { backend: Record<string, unknown> } };
    // SIGHUP and the file watcher both apply the change, so a log line may belong to the previous one. So the test
    // sends requests.
    const reloadWith = async (idempotency: string, times: number): Promise<void> => {
      file.services.backend['idempotency'] = idempotency;
      writeFileSync(gateway!.configPath, stringify(file));
      gateway!.signal('SIGHUP');
      await eventually(`the setting ${idempotency} applies`, async () => (await sendTwice()) === times);
      expect(await sendTwice()).toBe(times);
    };
    await reloadWith('off', 2);
    expect((await world.post(key)).headers['idempotent-replayed']).toBeUndefined();
    await reloadWith('gateway', 1);
    expect((await world.post(key)).headers['idempotent-replayed']).toBe('true');
  });
});

describe('a response that emits an event', () => {
  it('emits one event, even if it is replayed or its client disconnected', async () => {
    world = await startKeyedWorld('SQLite', { config: EMITTING });
    const [gateway] = world.gateways;
    const key = randomUUID();
    const first = await world.post(key);
    for (let time = 0; time < 3; time++) {
      const again = await world.post(key);
      expect([again.text, again.headers['idempotent-replayed']]).toEqual([first.text, 'true']);
    }
    const events = async () => {
      const path = `/accounts/${world.accountId}/events?limit=100`;
      const { data } = await gateway!.admin.call<{ data: { type: string; resource: string }[] }>('GET', path);
      return data.filter(({ type }) => type === 'customer.created').map(({ resource }) => resource);
    };
    expect(await events()).toEqual([first.json()['id']]);
    // A request whose client disconnected emits one event, too, and its retry gets the response.
    world.says = (request, response, recorded) =>
      void setTimeout(() => void makesCustomer(request, response, recorded), 100);
    const [left, gone] = [randomUUID(), new AbortController()];
    const lost = world.post(left, { signal: gone.signal }).catch(() => undefined);
    await eventually('the backend gets the request', () => world.carriedOut(left) === 1);
    gone.abort();
    await lost;
    await eventually('the retry gets the response', async () => (await world.post(left)).status === 201);
    expect(await events()).toEqual([(await world.post(left)).json()['id'], first.json()['id']]);
    expect(world.carriedOut(left)).toBe(1);
  });
});

describe('a stored response', () => {
  it('is replayed for a day and deleted later, measured by the clock at the last start', async () => {
    const clock = new TurnedClock();
    const own = await startKeyedWorld('SQLite', { own: true, env: clock.env });
    world = own;
    const { dataDir } = own.gateways[0]!;
    const key = randomUUID();
    const first = await world.post(key);
    const restart = async (aheadMs: number): Promise<void> => {
      await world.gateways[0]!.stop();
      clock.runAhead(aheadMs);
      world.gateways[0] = await startTrailgate({ ...world.options, dataDir });
    };
    await restart(86_400_000 - 60_000);
    expect((await world.post(key)).text).toBe(first.text);
    expect(world.carriedOut(key)).toBe(1);
    await restart(86_400_000 + 60_000);
    expect((await world.post(key)).headers).not.toHaveProperty('idempotent-replayed');
    expect(world.carriedOut(key)).toBe(2);
    await restart(2 * 86_400_000 + 120_000);
    const rows = async () => {
      const handle = await openDatabase({ dataDir });
      const all = await handle.db.selectFrom('idempotent_request').select('owner').execute();
      await handle.close();
      return all.length;
    };
    await eventually('the stored response is deleted', async () => (await rows()) === 0, 15_000);
    clock.close();
  }, 90_000);

  it('is still replayed after the system clock was set ahead or back while the program runs', async () => {
    const clock = new TurnedClock();
    world = await startKeyedWorld('SQLite', { env: clock.env });
    const key = randomUUID();
    const first = await world.post(key);
    for (const days of [3, -3, 0]) {
      clock.runAhead(days * 86_400_000);
      const again = await world.post(key);
      expect([again.status, again.text]).toEqual([201, first.text]);
    }
    expect(world.carriedOut(key)).toBe(1);
    clock.close();
  });

  it('is still replayed by workers that restart after the system clock was set ahead or back', async () => {
    const clock = new TurnedClock();
    const own = await startKeyedWorld('SQLite', { own: true, env: clock.env, args: ['--workers', '2'] });
    world = own;
    const { pid } = own.gateways[0]!;
    const key = randomUUID();
    const first = await world.post(key);
    for (const days of [3, -3]) {
      clock.runAhead(days * 86_400_000);
      const before = childrenOf(pid, WORKER);
      for (const victim of before) process.kill(victim, 'SIGKILL');
      await eventually('both workers are replaced', async () => {
        const now = childrenOf(pid, WORKER);
        return now.length === 2 && !now.some((each) => before.includes(each));
      });
      await eventually('a worker serves requests', () =>
        world.post(undefined).then(
          ({ status }) => status === 201,
          () => false,
        ),
      );
      for (let time = 0; time < 6; time++) expect((await world.post(key)).text).toBe(first.text);
    }
    expect(world.carriedOut(key)).toBe(1);
    clock.close();
  }, 90_000);
});

describeWithRedis('several workers of one gateway', () => {
  it('carry out a request with an Idempotency-Key once', async () => {
    const env = { REDIS_URL: await sharedRedisUrl() };
    world = await startKeyedWorld('SQLite', { env, args: ['--workers', '2'] });
    world.says = (request, response, recorded) =>
      void setTimeout(() => void makesCustomer(request, response, recorded), 100);
    const key = randomUUID();
    const answers = await Promise.all(Array.from({ length: 20 }, () => world.post(key)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(world.carriedOut(key)).toBe(1);
    for (let time = 0; time < 6; time++) expect((await world.post(key)).headers['idempotent-replayed']).toBe('true');
  });
});

describe('a browser', () => {
  it('can send Idempotency-Key and read the idempotency response fields through CORS', async () => {
    world = await startKeyedWorld('SQLite', { config: { gateway: { cors: { origins: ['https://shop.example'] } } } });
    const key = randomUUID();
    await world.post(key);
    const answer = await world.post(key, { fields: ['Origin', 'https://shop.example'] });
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://shop.example',
      'idempotent-replayed': 'true',
    });
    expect(answer.headers['access-control-expose-headers']).toMatch(/Idempotency-Stored, Idempotent-Replayed/);
    const preflight = await send(`${world.gateways[0]!.gatewayUrl}/api/v1/customers`, {
      method: 'OPTIONS',
      headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' },
    });
    expect(preflight.headers['access-control-allow-headers']).toMatch(/Idempotency-Key/);
  });
});

describe('replays', () => {
  it('are limited to 600 per minute and API key; requests without Idempotency-Key are not', async () => {
    world = await startKeyedWorld('SQLite');
    const key = randomUUID();
    await world.post(key);
    const statuses = new Map<number, number>();
    for (let round = 0; round < 31; round++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => world.post(key)));
      for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect([statuses.get(201), statuses.get(429)]).toEqual([600, 20]);
    const refused = await world.post(key);
    expectProblem(refused, 'too_many_idempotent_retries');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(limitFieldsOf(refused)).toEqual(expect.arrayContaining(['ratelimit', 'ratelimit-policy']));
    expect((await world.post(undefined)).status).toBe(201);
    const { admin } = world.gateways[0]!;
    expect((await world.post(key, { secret: (await admin.createKey(world.accountId)).secret })).status).toBe(201);
  });
});
