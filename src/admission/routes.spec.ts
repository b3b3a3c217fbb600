/** Paths that certainly do not exist are refused at once. Those that Nest's router may know are left to it. */
import { describe, expect, it } from '@jest/globals';
import type { Config, Operation } from '../config/model/schema.js';
import { Routes } from './routes.js';

function kindOf(path: string, { basePath = '/api/v1', method = 'GET' } = {}): string {
  const operation = { id: 'listCustomers', index: 0, method: 'GET', template: '/customers', scopes: [] };
  const config = { file: { api: { basePath } }, operations: [operation as unknown as Operation], unpublished: [] };
  return new Routes(config as unknown as Config).match(method, path, { headers: {}, socket: {} }).kind;
}

describe('a path', () => {
  it.each([
    ['/api/v1/customers', 'operation'],
    ['/api/v1/nothing', 'not_found'],
    ['/api/v1/', 'not_found'],
    ['/api/v1/usage/', 'not_found'],
    ['/api/v1/docs', 'not_found'],
    ['/api/v1//usage', 'invalid_path'],
    ['/api/v1/usage#x', 'invalid_path'],
    ['/api/v1/usage', 'not_ours'],
    ['/api/v1/us%61ge', 'not_ours'],
    ['/api/v1/openapi.json', 'not_ours'],
    ['/api/v1', 'not_ours'],
    ['/docs/errors', 'not_ours'],
  ])('%s is classified as %s', (path, kind) => expect(kindOf(path)).toBe(kind));

  it('is method_not_allowed if it exists only under other methods', () => {
    expect(kindOf('/api/v1/customers', { method: 'POST' })).toBe('method_not_allowed');
    expect(kindOf('/api/v1/usage', { method: 'POST' })).toBe('method_not_allowed');
  });

  it.each(['/docs', '/docs/errors'])(
    'is left to the router below the base path %s, unless it is an operation',
    (basePath) => {
      expect(kindOf(`${basePath}/nothing`, { basePath })).toBe('not_ours');
      expect(kindOf(`${basePath}/customers`, { basePath })).toBe('operation');
    },
  );
});

describe('one of several APIs', () => {
  const PARTNER = 'partners.example.com';
  const LOCAL = '127.0.0.1';
  const ELSEWHERE = '203.0.113.7';
  const api = (name: string, basePath: string, hosts: readonly string[] = []) => ({ name, basePath, hosts });
  /** Returns the name of the API that serves the path, `first` or undefined. */
  const servedBy = (
    apis: readonly ReturnType<typeof api>[],
    path: string,
    { host, from = ELSEWHERE }: { readonly host?: string | undefined; readonly from?: string },
  ): string | undefined => {
    const operations = apis.map(({ name }, at) => ({
      id: `${name}.list`,
      index: at,
      method: 'GET',
      template: '/customers',
      scopes: [],
      ...(at === 0 ? {} : { api: name }),
    }));
    const config = { file: { apis }, operations, unpublished: [] };
    const received = { headers: { host }, socket: { remoteAddress: from } };
    const match = new Routes(config as unknown as Config).match('GET', path, received);
    return match.kind === 'operation' ? (match.operation.api ?? 'first') : undefined;
  };
  const apis = [api('v1', '/api/v1'), api('partners', '/v1', [PARTNER])];

  it.each([
    [{ host: PARTNER }, 'partners'],
    [{ host: 'Partners.Example.com:8443' }, 'partners'],
    [{ host: 'other.example.com' }, undefined],
    [{ host: undefined }, undefined],
    [{ host: 'localhost' }, undefined],
    [{ host: 'x.localhost', from: ELSEWHERE }, undefined],
    [{ host: 'localhost:8080', from: LOCAL }, 'partners'],
    [{ host: 'localhost', from: '::ffff:127.0.0.1' }, 'partners'],
  ])('with hosts serves a request with %j: %s', (message, expected) => {
    expect(servedBy(apis, '/v1/customers', message)).toBe(expected);
  });

  it('with the longest base path serves a request, whether it has hosts or not', () => {
    const nested = [api('all', '/api', [PARTNER]), api('v1', '/api/v1')];
    expect(servedBy(nested, '/api/v1/customers', { host: PARTNER })).toBe('v1');
    expect(servedBy(nested, '/api/customers', { host: PARTNER })).toBe('first');
  });

  it('with hosts comes before one for any host, except under a loopback name', () => {
    const same = [api('all', '/api'), api('partners', '/api', [PARTNER])];
    expect(servedBy(same, '/api/customers', { host: PARTNER })).toBe('partners');
    expect(servedBy(same, '/api/customers', { host: 'other.example.com' })).toBe('first');
    expect(servedBy(same, '/api/customers', { host: 'localhost', from: LOCAL })).toBe('first');
  });
});
