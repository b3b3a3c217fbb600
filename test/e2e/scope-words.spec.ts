/** The admin API describes scopes with the texts of the OpenAPI documents, and follows changes of these. */
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
  readonly translations: Readonly<Record<string, object>>;
}

const DESCRIPTIONS = {
  'customers:read': 'Look up customers',
  'customers:write': { en: 'Create a customer', es: 'Crear clientes' },
};
const DOCUMENT = mergePatch(testOpenapi, {
  tags: [{ name: 'Customers', 'x-trailgate-names': { es: 'Clientes' } }],
  components: { securitySchemes: { apiKey: { 'x-trailgate-scopes': DESCRIPTIONS } } },
  paths: {
    '/customers': { get: { tags: ['Customers'] }, post: { tags: ['Customers'], summary: 'Create a customer' } },
  },
}) as Json;

let backend: Backend;
let gateway: RunningTrailgate;

beforeAll(async () => {
  backend = await startBackend(json({}));
  gateway = await startTrailgate({ backend: backend.url, openapi: DOCUMENT });
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

it('a scope has the description and group of the document, a wildcard the group of its resource', async () => {
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

it('a scope has the translations of the document, a wildcard those of its group', async () => {
  const { data } = await gateway.admin.call<{ data: Scope[] }>('GET', '/scopes');
  const of = (name: string) => data.find(({ scope }) => scope === name)?.translations;
  expect(of('customers:write')).toEqual({
    en: { description: 'Create a customer', group: null },
    es: { description: 'Crear clientes', group: 'Clientes' },
  });
  expect(of('customers:read')).toEqual({ es: { description: null, group: 'Clientes' } });
  expect(of('customers:*')).toEqual({ es: { description: null, group: 'Clientes' } });
  expect(of('files:read')).toEqual({});
  const published = await (await fetch(`${gateway.gatewayUrl}/api/v1/openapi.json`)).text();
  expect(published).toContain('Create a customer');
  expect(published).not.toContain('Clientes');
});

it('a changed document changes the descriptions without a restart', async () => {
  const file = join(gateway.configPath, '../backend.openapi.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('Look up customers', 'Read customers'));
  await eventually('the scopes have the new descriptions', async () => {
    return (await scopes())['customers:read']?.description === 'Read customers';
  });
});

it('a scope is read-only if none of its operations changes anything', async () => {
  const { data } = await gateway.admin.call<{ data: Scope[] }>('GET', '/scopes');
  expect(data.filter((each) => each.read_only).map(({ scope }) => scope)).toEqual(['customers:read', 'files:read']);
});
