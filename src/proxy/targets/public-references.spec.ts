/** References to the target become paths of the public API. All others stay unchanged. */
import { describe, expect, it } from '@jest/globals';
import { publicField, publicReference } from './public-references.js';

const root = { origin: 'http://10.0.0.7:4001', prefix: '', basePath: '/api/v1' };
const deep = { origin: 'https://backend.internal', prefix: '/rest/v3', basePath: '/api/v1' };

describe('a reference', () => {
  it.each([
    ['http://10.0.0.7:4001/customers/1', '/api/v1/customers/1'],
    ['HTTP://10.0.0.7:4001/customers?cursor=a%2Fb#x', '/api/v1/customers?cursor=a%2Fb#x'],
    ['//10.0.0.7:4001/a', '/api/v1/a'],
    ['http://10.0.0.7:4001', '/api/v1'],
    ['http://10.0.0.7:4001?a=1', '/api/v1?a=1'],
    ['http://10.0.0.7:4001/a/../b', '/api/v1/a/../b'],
    ['https://10.0.0.7:4001/customers/1', 'https://10.0.0.7:4001/customers/1'],
    ['http://10.0.0.7:40010/customers/1', 'http://10.0.0.7:40010/customers/1'],
    ['http://10.0.0.7/customers/1', 'http://10.0.0.7/customers/1'],
    ['https://api.example.com/api/v1/customers/1', 'https://api.example.com/api/v1/customers/1'],
    ['/customers/1', '/customers/1'],
    ['1', '1'],
    ['', ''],
    ['mailto:a@b', 'mailto:a@b'],
    ['http://[broken', 'http://[broken'],
  ])('%s to a target without a path: %s', (reference, expected) => {
    expect(publicReference(reference, root)).toBe(expected);
  });

  it.each([
    ['https://backend.internal/rest/v3/customers/1', '/api/v1/customers/1'],
    ['https://backend.internal:443/rest/v3', '/api/v1'],
    ['https://BACKEND.internal/rest/v3?x', '/api/v1?x'],
    ['/rest/v3/customers/1', '/api/v1/customers/1'],
    ['https://backend.internal/rest/v30/a', 'https://backend.internal/rest/v30/a'],
    ['https://backend.internal/login', 'https://backend.internal/login'],
    ['/rest/v30/a', '/rest/v30/a'],
    ['/api/v1/customers/1', '/api/v1/customers/1'],
    ['customers/1', 'customers/1'],
  ])('%s to a target with a path: %s', (reference, expected) => {
    expect(publicReference(reference, deep)).toBe(expected);
  });

  it('is replaced in Location, and in every link of a Link field', () => {
    expect(publicField('location', 'http://10.0.0.7:4001/a', root)).toBe('/api/v1/a');
    expect(
      publicField(
        'link',
        '<http://10.0.0.7:4001/customers?cursor=2>; rel="next", <https://other.example/>; rel="help"',
        root,
      ),
    ).toBe('</api/v1/customers?cursor=2>; rel="next", <https://other.example/>; rel="help"');
  });
});
