/** The default configuration of the end-to-end tests is valid, and tests can change it. */
import { describe, expect, it } from '@jest/globals';
import { readEnvironment } from '../../src/config/model/environment.js';
import { loadConfig } from '../../src/config/load.js';
import { temporaryFolder } from './processes.js';
import { mergePatch, writeConfig } from './program-config.js';

describe('the configuration of the tests', () => {
  it('has no fault, and every operation has its scopes', async () => {
    const path = writeConfig(temporaryFolder('config'), { targets: ['http://127.0.0.1:9'] });
    const loaded = await loadConfig(path, readEnvironment({}), {});
    if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
    const operations = loaded.config.operations.map(
      ({ method, template, scopes }) => `${method} ${template} ${scopes.join()}`,
    );
    expect(operations).toContain('GET /customers/{id} customers:read');
    expect(operations).toContain('PUT /files/{name} files:write');
    expect(operations).toContain('GET /open ');
  });

  it('takes the changes of a test and adds its operations', async () => {
    const path = writeConfig(temporaryFolder('config'), {
      targets: ['http://127.0.0.1:9', 'http://127.0.0.1:10/prefix'],
      config: {
        plans: { pro: null, tiny: { key: { minute: 1 } } },
        operations: [{ match: 'GET /customers', cost: 5 }],
      },
    });
    const loaded = await loadConfig(path, readEnvironment({}), {});
    if ('problems' in loaded) throw new Error(JSON.stringify(loaded.problems));
    const { file, operations } = loaded.config;
    expect(Object.keys(file.plans)).toEqual(['starter', 'unlimited', 'tiny']);
    expect(file.services['backend']?.targets).toHaveLength(2);
    expect(operations.find(({ id }) => id === 'listCustomers')?.cost).toBe(5);
    expect(operations.find(({ id }) => id === 'getOpen')?.scopes).toEqual([]);
  });

  it('merges as RFC 7396 does', () => {
    expect(mergePatch({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: null, e: { f: null } }, d: [2] })).toEqual({
      a: { c: 2, e: {} },
      d: [2],
    });
  });
});
