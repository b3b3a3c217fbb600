/** The scopes that a key may be given are told in the words of the OpenAPI documents, also after these have changed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { json, startBackend, type Backend } from '../support/backend.js';
import { eventually } from '../support/processes.js';
import { startTrailgate, type RunningTrailgate } from '../support/program.js';
import { mergePatch, testOpenapi, type Json } from '../support/program-config.js';

interface Scope {
  readonly scope: string;
  readonly operations: readonly string[];
  readonly description: string | null;
  readonly group: string | null;
  readonly read_only: boolean;
}

const DESCRIBED = mergePatch(testOpenapi, {
  components: { securitySchemes: { apiKey: { 'x-trailgate-scopes': { 'customers:read': 'Look up customers' } } } },
  paths: {
    '/customers': { get: { tags: ['Customers'] }, post: { tags: ['Customers'], summary: 'Create a customer' } },
  },
}) as Json;

let backend: Backend;
let gateway: RunningTrailgate;

beforeAll(async () => {
  backend = await startBackend(json({}));
  gateway = await startTrailgate({ backend: backend.url, openapi: DESCRIBED });
});
afterAll(async () => {
  await gateway.stop();
  await backend.stop();
});

const scopes = async () =>
  Object.fromEntries(
    (await gateway.admin.call<{ data: Scope[] }>('GET', '/scopes')).data.map(({ scope, description, group }) => [
      scope,
      { description, group },
    ]),
  );

it('each scope has its words and its group, a wildcard the group of its resource', async () => {
  expect(await scopes()).toEqual({
    '*': { description: null, group: null },
    'customers:*': { description: null, group: 'Customers' },
    'customers:read': { description: 'Look up customers', group: 'Customers' },
    'customers:write': { description: 'Create a customer', group: 'Customers' },
    'files:*': { description: null, group: null },
    'files:read': { description: null, group: null },
    'files:write': { description: null, group: null },
  });
});

it('a changed document changes the words without a restart', async () => {
  const file = join(gateway.configPath, '../backend.openapi.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('Look up customers', 'Read customers'));
  await eventually('the new words are there', async () => {
    return (await scopes())['customers:read']?.description === 'Read customers';
  });
});

it('a scope is read-only where nothing that it opens changes anything', async () => {
  const { data } = await gateway.admin.call<{ data: Scope[] }>('GET', '/scopes');
  expect(data.filter((each) => each.read_only).map(({ scope }) => scope)).toEqual(['customers:read', 'files:read']);
});
