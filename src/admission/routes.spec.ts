/**
 * What is certain not to be there is refused at once; whatever Nest's router may know, or read in another way, is left
 * to it.
 */
import { describe, expect, it } from '@jest/globals';
import type { Config, Operation } from '../config/model/schema.js';
import { Routes } from './routes.js';

function kindOf(path: string, { basePath = '/api/v1', method = 'GET' } = {}): string {
  const operation = { id: 'listCustomers', index: 0, method: 'GET', template: '/customers', scopes: [] };
  const config = { file: { api: { basePath } }, operations: [operation as unknown as Operation] };
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

  it('that has other methods is known to have them', () => {
    expect(kindOf('/api/v1/customers', { method: 'POST' })).toBe('method_not_allowed');
    expect(kindOf('/api/v1/usage', { method: 'POST' })).toBe('method_not_allowed');
  });

  it.each(['/docs', '/docs/errors'])('may be a page of the reference where operations stand below %s', (basePath) => {
    expect(kindOf(`${basePath}/nothing`, { basePath })).toBe('not_ours');
    expect(kindOf(`${basePath}/customers`, { basePath })).toBe('operation');
  });
});
