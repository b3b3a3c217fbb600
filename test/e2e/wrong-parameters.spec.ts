/** A wrong parameter gets the same error from the gateway's own endpoint, the example backend, and the admin API. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode, FieldError } from '../../src/platform/problems/errors.js';
import { startCustomers, type RunningCustomers } from '../support/customers.js';
import { send, type Answer } from '../support/http.js';
import { expectProblem } from '../support/problem.js';
import { temporaryFolder } from '../support/processes.js';
import { acquireTrailgate, type SharedTrailgate } from '../support/shared-program.js';

const folder = temporaryFolder('wrong-parameters');
let customers: RunningCustomers;
let gateway: SharedTrailgate;
let secret: string;

beforeAll(async () => {
  customers = await startCustomers({ CUSTOMERS_DATA_DIR: join(folder, 'data') });
  gateway = await acquireTrailgate({ backend: customers.url });
  ({ secret } = (await gateway.admin.newKey()).key);
});
afterAll(async () => {
  await gateway.stop();
  await customers.stop();
  rmSync(folder, { recursive: true, force: true });
});

const LISTS: Readonly<Record<string, (query: string) => Promise<Answer>>> = {
  '/usage': (query) => ask(`/usage?group_by=day&${query}`),
  '/customers': (query) => ask(`/customers?${query}`),
  'the admin API': (query) => gateway.admin.request('GET', `/accounts?${query}`),
};

function ask(path: string): Promise<Answer> {
  return send(`${gateway.gatewayUrl}/api/v1${path}`, { headers: { Authorization: `Bearer ${secret}` } });
}

describe.each(Object.entries(LISTS))('%s', (_name, list) => {
  it.each<[string, ErrorCode, string]>([
    ['limit=0', 'invalid_parameter', 'limit'],
    ['limit=many', 'invalid_parameter', 'limit'],
    ['limit=', 'invalid_parameter', 'limit'],
    ['limit=1&limit=2', 'invalid_parameter', 'limit'],
    ['Limit=1', 'invalid_parameter', 'Limit'],
    ['ofset=20', 'invalid_parameter', 'ofset'],
    ['cursor=junk', 'invalid_cursor', 'cursor'],
  ])('rejects ?%s with %s, and names the parameter', async (query, code, parameter) => {
    const problem = expectProblem(await list(query), code);
    const [error, ...more] = problem.errors as FieldError[];
    expect([error?.parameter, more]).toEqual([parameter, []]);
    const sentence = code === 'invalid_parameter' ? `The query is not valid: ${parameter} ${error?.detail}` : '';
    expect(problem.detail).toContain(sentence.replace(/[.?]$/, ''));
  });

  it('names every wrong parameter at once', async () => {
    const problem = expectProblem(await list('limit=0&ofset=20'), 'invalid_parameter');
    expect(problem.errors?.map(({ parameter }) => parameter).toSorted()).toEqual(['limit', 'ofset']);
  });
});
