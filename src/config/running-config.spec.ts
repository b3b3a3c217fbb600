import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI } from '../../test/support/config-files.js';
import { RunningConfig } from './running-config.js';
import type { LoadedConfig } from './model/loaded-config.js';
import type { Config } from './model/schema.js';

const configWith = (yaml: string, openapi = OPENAPI): Promise<LoadedConfig> =>
  configOf({ 'gateway.yaml': MINIMAL + yaml, 'customers.yaml': openapi });

describe('replacing the running configuration', () => {
  it('keeps settings that need a restart, returns their names, and applies the others', async () => {
    const running = new RunningConfig(await configWith('gateway: { port: 8080 }\nusage: { flushInterval: 5s }\n'));
    const next = await configWith(
      'gateway: { port: 9090, failedAuthentication: { perMinute: 7 }, limits: { connections: 9 } }\napi: { ' +
        'basePath: /v2, title: New }\n',
    );
    const needRestart = await running.replace({ config: next });
    expect(needRestart).toEqual(['gateway.port', 'api.basePath']);
    const { gateway, api } = running.current.file;
    expect(gateway.port).toBe(8080);
    expect([gateway.failedAuthentication.perMinute, gateway.limits.connections]).toEqual([7, 9]);
    expect(api).toMatchObject({ basePath: '/api/v1', title: 'New' });
    expect(running.current.publicUrl).toBe('http://localhost:8080');
  });

  it('keeps the index of an operation that remains, and does not reuse an old index', async () => {
    const boats = 'operations:\n  - { match: GET /boats, service: customers, scopes: [] }\n';
    const tours = 'operations:\n  - { match: GET /tours, service: customers, scopes: [] }\n';
    const running = new RunningConfig(await configWith(boats));
    const indexOf = (template: string, method = 'GET'): number | undefined =>
      running.current.operations.find((each) => each.template === template && each.method === method)?.index;
    const customers = indexOf('/customers');
    const old = indexOf('/boats');
    await running.replace({ config: await configWith('') });
    await running.replace({ config: await configWith(tours) });
    expect(indexOf('/customers')).toBe(customers);
    expect(indexOf('/tours')).toBeGreaterThan(old ?? Infinity);
    const indexes = running.current.operations.map(({ index }) => index);
    expect(new Set(indexes).size).toBe(indexes.length);
  });

  it('lets every listener prepare while the old configuration runs, then switches them all', async () => {
    const running = new RunningConfig(await configWith(''));
    const steps: string[] = [];
    const title = (): string => running.current.file.api.title;
    for (const name of ['first', 'second']) {
      running.onChange(async ({ config }) => {
        steps.push(`${name} makes ${config.file.api.title} ready while ${title()} runs`);
        await sleep(5);
        return () => void steps.push(`${name} has ${title()}`);
      });
    }
    await running.replace({ config: await configWith('api: { title: New }\n') });
    expect(steps).toEqual([
      'first makes New ready while API runs',
      'second makes New ready while API runs',
      'first has New',
      'second has New',
    ]);
  });

  it('changes nothing if a listener fails or the caller cancels in the meantime', async () => {
    const running = new RunningConfig(await configWith(''));
    const before = running.current;
    const applied: Config[] = [];
    let fails = true;
    running.onChange(
      ({ config }) =>
        () =>
          void applied.push(config),
    );
    running.onChange(async () => {
      if (fails) throw new Error('a file has gone');
      return () => undefined;
    });
    const next = { config: await configWith('api: { title: New }\n') };
    await expect(running.replace(next)).rejects.toThrow('a file has gone');
    fails = false;
    expect(await running.replace(next, () => false)).toBeUndefined();
    expect([running.current === before, applied]).toEqual([true, []]);
    await running.replace(next);
    expect(applied).toEqual([running.current]);
  });
});
