import { expect, it } from '@jest/globals';
import { operationOptions } from './operation-options.js';

const operation = (id: string, path: string, hosts: string[] = []) => ({
  operation: id,
  method: 'GET',
  path,
  url: `https://api.example.com${path}`,
  hosts,
  scopes: [],
});

it('shows the hosts of operations that have the same method and path', () => {
  const options = operationOptions([
    operation('list', '/v1/tours'),
    operation('partners.list', '/v1/tours', ['p.example.com', 'q.example.com']),
    operation('partners.get', '/v1/tours/{id}', ['p.example.com', 'q.example.com']),
  ]);
  expect(options).toEqual([
    { value: 'list', label: 'GET /v1/tours' },
    { value: 'partners.list', label: 'GET /v1/tours (p.example.com, q.example.com)' },
    { value: 'partners.get', label: 'GET /v1/tours/{id}' },
  ]);
});
