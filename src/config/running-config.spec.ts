import { describe, expect, it } from '@jest/globals';
import { configOf, MINIMAL, OPENAPI } from '../../test/support/config-files.js';
import { RunningConfig } from './running-config.js';
import type { Config } from './schema.js';

const configWith = (yaml: string, openapi = OPENAPI): Promise<Config> =>
  configOf({ 'gateway.yaml': MINIMAL + yaml, 'customers.yaml': openapi });

describe('a configuration that is taken over', () => {
  it('leaves what is built once as it runs, and says what needs a restart', async () => {
    const running = new RunningConfig(await configWith('gateway: { port: 8080 }\nusage: { flushInterval: 5s }\n'));
    const needRestart = running.replace(
      await configWith(
        'gateway: { port: 9090, failedAuthentication: { perMinute: 7 }, limits: { connections: 9 } }\napi: { basePath: /v2, title: New }\n',
      ),
    );
    expect(needRestart).toEqual(['gateway.port', 'api.basePath']);
    const { gateway, api } = running.current.file;
    expect(gateway.port).toBe(8080);
    expect([gateway.failedAuthentication.perMinute, gateway.limits.connections]).toEqual([7, 9]);
    expect(api).toMatchObject({ basePath: '/api/v1', title: 'New' });
    expect(running.current.publicUrl).toBe('http://localhost:8080');
  });

  it('keeps the index of an operation that stays, and gives none twice', async () => {
    const boats = 'operations:\n  - { match: GET /boats, service: customers, scopes: [] }\n';
    const tours = 'operations:\n  - { match: GET /tours, service: customers, scopes: [] }\n';
    const running = new RunningConfig(await configWith(boats));
    const indexOf = (template: string, method = 'GET'): number | undefined =>
      running.current.operations.find((each) => each.template === template && each.method === method)?.index;
    const customers = indexOf('/customers');
    const old = indexOf('/boats');
    running.replace(await configWith(''));
    running.replace(await configWith(tours));
    expect(indexOf('/customers')).toBe(customers);
    expect(indexOf('/tours')).toBeGreaterThan(old ?? Infinity);
    const indexes = running.current.operations.map(({ index }) => index);
    expect(new Set(indexes).size).toBe(indexes.length);
  });

  it('is told to everyone who asked, whole', async () => {
    const running = new RunningConfig(await configWith(''));
    const heard: Config[] = [];
    running.onChange((config) => heard.push(config));
    running.onChange((config) => expect(running.current).toBe(config));
    running.replace(await configWith('api: { title: New }\n'));
    expect(heard).toEqual([running.current]);
  });
});
