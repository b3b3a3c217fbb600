/** A changed gateway.yaml applies within seconds and without a lost request. An invalid one changes nothing. */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { json, startBackend, type Backend } from '../support/backend.js';
import { send, type Answer } from '../support/http.js';
import { eventually, sleep } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';

type Yaml = Record<string, Record<string, unknown>>;

describe('a changed configuration', () => {
  let first: Backend;
  let second: Backend;
  let trailgate: RunningTrailgate;
  let secret: string;

  const ask = (path = '/customers', method = 'GET'): Promise<Answer> =>
    send(`${trailgate.gatewayUrl}/api/v1${path}`, { method, headers: { authorization: `Bearer ${secret}` } });
  const change = (edit: (config: Yaml) => void): void => {
    const config = parse(readFileSync(trailgate.configPath, 'utf8')) as Yaml;
    edit(config);
    writeFileSync(trailgate.configPath, stringify(config));
  };
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${trailgate.adminUrl}/metrics`)).text();
    return Number(new RegExp(`^${name.replace(/[{}"]/g, '\\$&')} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  };

  beforeAll(async () => {
    first = await startBackend((request, response) => {
      setTimeout(() => response.end('{"from":"first"}'), request.url?.includes('slow') === true ? 1_500 : 0);
    });
    second = await startBackend(json({ from: 'second' }));
    trailgate = await startTrailgate({
      backend: first.url,
      config: { plans: { small: { account: { month: 100_000 } } } },
    });
    ({ secret } = (await trailgate.admin.newKey('small', { scopes: ['customers:*', 'files:read'] })).key);
  });
  afterAll(async () => {
    await trailgate?.stop();
    await Promise.all([first?.stop(), second?.stop()]);
  });

  it('applies new limits, scopes, routes and targets under load, and no request fails', async () => {
    let going = true;
    const statuses = new Map<number, number>();
    const load = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (going) {
          const { status } = await ask();
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }),
    );
    await sleep(200);
    const slow = ask('/customers?slow');
    await eventually('the slow request is running', () => first.requests.some(({ url }) => url.includes('slow')));
    change((config) => {
      config['services']!['backend'] = { ...(config['services']!['backend'] as object), targets: [second.url] };
      config['plans'] = { small: { account: { month: 200_000 } } };
      (config as Record<string, unknown>)['operations'] = [
        { match: 'GET /open', scopes: [] },
        { match: 'GET /new', service: 'backend', scopes: ['customers:read'] },
        { match: 'GET /files/{name}', scopes: ['files:admin'] },
      ];
    });
    await eventually('the configuration is applied', async () => (await ask('/new')).status === 200);
    await sleep(200);
    going = false;
    await load;
    expect([...statuses.keys()]).toEqual([200]);
    expect((await slow).json()).toEqual({ from: 'first' });
    expect((await ask()).json()).toEqual({ from: 'second' });
    expect((await ask()).headers['ratelimit-policy']).toBe(
      '"account-month";q=200000;w=' + String((await ask()).headers['ratelimit-policy']).split('w=')[1],
    );
    expect((await ask('/files/x')).status).toBe(403);
    const openapi = (await send(`${trailgate.gatewayUrl}/api/v1/openapi.json`)).json() as { paths: object };
    expect(Object.keys(openapi.paths)).toContain('/new');
    expect(await metric('trailgate_config_reloads_total{result="applied"}')).toBe(1);
  });

  it('is refused with its problems in the log if it is invalid, and the running one stays', async () => {
    const good = readFileSync(trailgate.configPath, 'utf8');
    writeFileSync(trailgate.configPath, `${good}\nplanz: {}\n`);
    await eventually('config_refused is logged', () =>
      trailgate.logs().some(({ event }) => event === 'config_refused'),
    );
    const line = trailgate.logs().find(({ event }) => event === 'config_refused');
    expect(String(line?.['problems'])).toMatch(/planz/);
    expect((await ask('/new')).status).toBe(200);
    expect(await metric('trailgate_config_reloads_total{result="refused"}')).toBeGreaterThan(0);
    expect(await metric('trailgate_config_refused')).toBe(1);
    writeFileSync(trailgate.configPath, good);
    await eventually('a valid configuration is applied', async () => (await metric('trailgate_config_refused')) === 0);
  });

  it('is applied on SIGHUP, and settings that need a restart are logged', async () => {
    change((config) => {
      config['gateway'] = { ...config['gateway'], port: 1 };
      config['gateway']['failedAuthentication'] = { perMinute: 3 };
    });
    trailgate.signal('SIGHUP');
    await eventually('the settings that need a restart are logged', () =>
      trailgate
        .logs()
        .some(({ event, settings }) => event === 'config_needs_restart' && String(settings) === 'gateway.port'),
    );
    const wrong = (): Promise<Answer> =>
      send(`${trailgate.gatewayUrl}/api/v1/customers`, { headers: { authorization: 'Bearer wrong' } });
    for (let attempt = 0; attempt < 3; attempt++) expect((await wrong()).status).toBe(401);
    expect((await wrong()).status).toBe(429);
  });
});
