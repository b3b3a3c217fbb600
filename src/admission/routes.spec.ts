/** Paths that certainly do not exist are refused at once. Those that Nest's router may know are left to it. */
import { describe, expect, it } from '@jest/globals';
import type { Config, Operation } from '../config/model/schema.js';
import { Routes } from './routes.js';

function kindOf(path: string, { basePath = '/api/v1', method = 'GET' } = {}): string {
  const operation = { id: 'listCustomers', index: 0, method: 'GET', template: '/customers', scopes: [] };
  const config = { file: { api: { basePath } }, operations: [operation as unknown as Operation], unpublished: [] };
  return new Routes(config as unknown as Config).match(method, path).kind;
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
  ])('%s is %s', (path, kind) => expect(kindOf(path)).toBe(kind));

  it('lists its methods if the requested one is missing', () => {
    expect(kindOf('/api/v1/customers', { method: 'POST' })).toBe('method_not_allowed');
    expect(kindOf('/api/v1/usage', { method: 'POST' })).toBe('method_not_allowed');
  });

  it.each(['/docs', '/docs/errors'])('may be a reference page if the base path is %s', (basePath) => {
    expect(kindOf(`${basePath}/nothing`, { basePath })).toBe('not_ours');
    expect(kindOf(`${basePath}/customers`, { basePath })).toBe('operation');
  });
});
