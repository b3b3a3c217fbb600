/**
 * Repeated reloads of files that are written in pieces or swapped by symlinks, also during shutdown. No request is
 * lost, and no resource leaks.
 */
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { json, startBackend, type Backend } from '../support/backend.js';
import { describeWithRedis } from '../support/describe-with.js';
import { send } from '../support/http.js';
import { seriesOf } from '../support/metrics-text.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate, type TrailgateOptions } from '../support/program.js';
import { Caller } from '../support/rate-limit.js';
import { sharedRedisUrl } from '../support/redis.js';

interface File {
  services: Record<string, Record<string, unknown>>;
  operations?: unknown[];
}

const running: { stop(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of running.splice(0).toReversed()) await each.stop();
});

const backendOf = async (...args: Parameters<typeof startBackend>): Promise<Backend> => {
  const backend = await startBackend(...args);
  running.push(backend);
  return backend;
};
const start = async (options: TrailgateOptions): Promise<RunningTrailgate> => {
  const trailgate = await startTrailgate(options);
  running.push(trailgate);
  return trailgate;
};
const text = ({ configPath }: RunningTrailgate): string => readFileSync(configPath, 'utf8');
const edited = (before: string, edit: (file: File) => void): string => {
  const file = parse(before) as File;
  edit(file);
  return stringify(file);
};
const events = (trailgate: RunningTrailgate, name: string): number =>
  trailgate.stdout.filter((line) => line.includes(`"event":"${name}"`)).length;
const metrics = async ({ adminUrl }: RunningTrailgate): Promise<Map<string, number>> =>
  seriesOf(await (await fetch(`${adminUrl}/metrics`)).text());
/** Writes a configuration, sends SIGHUP, and waits until the program has applied it. */
const reload = async (trailgate: RunningTrailgate, content: string): Promise<void> => {
  const before = events(trailgate, 'config_changed');
  writeFileSync(trailgate.configPath, content);
  trailgate.signal('SIGHUP');
  await eventually('the configuration is applied', () => events(trailgate, 'config_changed') > before);
};

describeWithRedis('services that are renamed under load', () => {
  it('lose no request in six reloads', async () => {
    const backend = await backendOf((_request, response) => void setTimeout(() => response.end('{}'), 2));
    const trailgate = await start({ backend: backend.url, env: { REDIS_URL: await sharedRedisUrl() } });
    const { key } = await trailgate.admin.newKey('pro', { scopes: ['*'] });
    const first = text(trailgate);
    const second = edited(first, ({ services }) => {
      services['renamed'] = { ...services['backend'], connections: 9 };
      delete services['backend'];
    });
    const caller = new Caller(trailgate.gatewayUrl, key.secret, 30);
    let going = true;
    const seen: Record<string, number> = {};
    const load = (async () => {
      while (going) {
        for (const [status, count] of Object.entries(await caller.burst(40)))
          seen[status] = (seen[status] ?? 0) + count;
        // Leaves CPU time for the configuration checks.
        await sleep(20);
      }
    })();
    for (let round = 0; round < 3; round++) for (const content of [second, first]) await reload(trailgate, content);
    going = false;
    await load;
    caller.close();
    expect(Object.keys(seen).filter((status) => status !== '200' && status !== '429')).toEqual([]);
    expect(backend.requests.length).toBe(seen['200']);
  });
});

it('a dozen reloads leave no connection, health check or metric of a removed target', async () => {
  const [first, second] = [await backendOf(json({ n: 1 })), await backendOf(json({ n: 2 }))];
  const health = { path: '/health', interval: '500ms' };
  const trailgate = await start({ backend: first.url, config: { services: { backend: { health } } } });
  const { secret } = (await trailgate.admin.newKey()).key;
  const ask = () => send(`${trailgate.gatewayUrl}/api/v1/open`, { headers: { authorization: `Bearer ${secret}` } });
  const one = text(trailgate);
  const two = edited(
    one,
    ({ services }) => void (services['backend']!['targets'] = [second.url, `${second.url}/more`]),
  );
  const round = async (): Promise<void> => {
    for (const content of [two, one]) {
      await reload(trailgate, content);
      expect((await ask()).status).toBe(200);
    }
  };
  const openFiles = (): number => readdirSync(`/proc/${trailgate.pid}/fd`).length;
  for (let warm = 0; warm < 2; warm++) await round();
  const before = openFiles();
  for (let index = 0; index < 6; index++) await round();
  const isUnknown = async () => [...(await metrics(trailgate)).keys()].every((name) => !name.includes(second.url));
  await Promise.all([
    eventually('connections to removed targets are closed', () => openFiles() <= before + 5),
    eventually('the removed target has no series', isUnknown),
  ]);
  const checks = { first: first.requests.length, second: second.requests.length };
  const sinceMs = performance.now();
  await eventually('the remaining target gets health checks', () => first.requests.length >= checks.first + 2);
  expect(second.requests.length).toBe(checks.second);
  // More health checks would mean that an old health checker still runs.
  expect(first.requests.length - checks.first).toBeLessThanOrEqual((performance.now() - sinceMs) / 500 + 2);
});

describe('a running program', () => {
  let backend: Backend;
  let trailgate: RunningTrailgate;
  let folder: string;
  let first: string;
  let headers: Record<string, string>;
  let [isSlow, seen] = [false, { changed: 0, refused: 0 }];
  beforeAll(async () => {
    backend = await startBackend((_request, response) => void setTimeout(() => response.end('{}'), isSlow ? 700 : 0));
    trailgate = await startTrailgate({ backend: backend.url });
    folder = dirname(trailgate.configPath);
    first = text(trailgate);
    headers = { authorization: `Bearer ${(await trailgate.admin.newKey()).key.secret}` };
  });
  beforeEach(() => {
    seen = { changed: events(trailgate, 'config_changed'), refused: events(trailgate, 'config_refused') };
  });
  afterAll(async () => {
    await trailgate?.stop();
    await backend?.stop();
  });

  const changed = (): number => events(trailgate, 'config_changed') - seen.changed;
  const refused = (): number => events(trailgate, 'config_refused') - seen.refused;
  const status = async (path: string) => (await send(`${trailgate.gatewayUrl}/api/v1${path}`, { headers })).status;

  it('reloads a file that is written in pieces once, when it is complete, and refuses no piece', async () => {
    const lines = `${first.trimEnd()}\n`.split('\n');
    writeFileSync(trailgate.configPath, '');
    for (const line of lines) {
      appendFileSync(trailgate.configPath, `${line}\n`);
      await sleep(2_500 / lines.length);
    }
    await eventually('the configuration is applied', () => changed() > 0);
    expect([changed(), refused()]).toEqual([1, 0]);
    expect(await status('/open')).toBe(200);
  });

  it('loads a missing OpenAPI document once it exists, and keeps the current one if it is deleted', async () => {
    const document = readFileSync(join(folder, 'backend.openapi.yaml'), 'utf8');
    writeFileSync(
      trailgate.configPath,
      edited(first, ({ services }) => void (services['backend']!['openapi'] = './next.openapi.yaml')),
    );
    await eventually('the configuration is refused', () => refused() === 1);
    expect(await status('/open')).toBe(200);
    writeFileSync(join(folder, 'next.openapi.yaml'), document.replaceAll('/open', '/opened'));
    writeFileSync(trailgate.configPath, text(trailgate).replace('GET /open', 'GET /opened'));
    await eventually('the OpenAPI document is loaded', () => changed() === 1);
    expect([await status('/open'), await status('/opened')]).toEqual([404, 200]);

    rmSync(join(folder, 'next.openapi.yaml'));
    await eventually('the configuration is refused again', () => refused() >= 2);
    expect([await status('/open'), await status('/opened')]).toEqual([404, 200]);
    await reload(trailgate, first);
  });

  it('follows symlinks that are swapped as in Kubernetes', async () => {
    const more = { match: 'GET /new', service: 'backend', scopes: [] };
    const versions = [first, edited(first, (file) => void file.operations?.push(more))];
    versions.forEach((content, index) => {
      mkdirSync(join(folder, `..v${index}`));
      writeFileSync(join(folder, `..v${index}`, 'gateway.yaml'), content);
    });
    symlinkSync('..v0', join(folder, '..data'));
    symlinkSync('..data/gateway.yaml', join(folder, 'linked'));
    renameSync(join(folder, 'linked'), trailgate.configPath);
    await eventually('the symlink is followed', () => changed() >= 1);
    symlinkSync('..v1', join(folder, '..next'));
    renameSync(join(folder, '..next'), join(folder, '..data'));
    await eventually('the swapped configuration is applied', async () => (await status('/new')) === 200);
  });

  it('shuts down cleanly while it receives many SIGHUP signals', async () => {
    for (let index = 0; index < 300; index++) trailgate.signal('SIGHUP');
    await eventually('the configuration is applied', () => changed() > 0);
    isSlow = true;
    backend.requests.length = 0;
    const slow = status('/open');
    await eventually('the backend gets the request', () => backend.requests.length === 1);
    const begun = changed();
    trailgate.signal('SIGHUP');
    const stopped = trailgate.stop();
    for (let index = 0; index < 20; index++) {
      trailgate.signal('SIGHUP');
      await sleep(10);
    }
    expect(await slow).toBe(200);
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(changed() - begun).toBeLessThanOrEqual(1);
    expect(trailgate.stderr).toEqual([]);
  });
});
