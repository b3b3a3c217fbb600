/** The default configuration of programs under test: one backend, a few operations, three plans. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';

export type Json = { readonly [name: string]: unknown };

const operation = (operationId: string, ...scopes: string[]) => ({
  operationId,
  security: [{ apiKey: scopes }],
  responses: { default: { description: 'As the backend says.' } },
});

const pathParameter = (name: string) => [{ name, in: 'path', required: true, schema: { type: 'string' } }];

/** OpenAPI document of the default service: customers, files of any size, and `GET /open`, which needs no scope. */
export const testOpenapi = {
  openapi: '3.1.0',
  info: { title: 'Test backend', version: '1.0.0' },
  components: { securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } } },
  paths: {
    '/customers': {
      get: operation('listCustomers', 'customers:read'),
      post: operation('createCustomer', 'customers:write'),
    },
    '/customers/{id}': {
      parameters: pathParameter('id'),
      get: operation('getCustomer', 'customers:read'),
      put: operation('replaceCustomer', 'customers:write'),
      patch: operation('updateCustomer', 'customers:write'),
      delete: operation('deleteCustomer', 'customers:write'),
    },
    '/files/{name}': {
      parameters: pathParameter('name'),
      get: operation('downloadFile', 'files:read'),
      put: operation('uploadFile', 'files:write'),
    },
    '/open': { get: operation('getOpen') },
  },
} satisfies Json;

/** Returns the default configuration of `startTrailgate`. */
function defaultConfig(targets: readonly string[], document: string): Json {
  return {
    // Tests send an invalid key many times while they wait for a refusal. `key-guessing.spec.ts` tests the throttle.
    gateway: { host: '127.0.0.1', port: 0, failedAuthentication: { perMinute: 0 } },
    admin: { host: '127.0.0.1', port: 0 },
    api: { basePath: '/api/v1', title: 'Test API' },
    services: { backend: { targets, openapi: `./${document}`, maxBodyBytes: '1GiB' } },
    operations: [{ match: 'GET /open', scopes: [] }],
    plans: {
      starter: { key: { minute: 60 }, account: { minute: 120, month: 10_000 } },
      pro: { account: { minute: 1_200, month: 1_000_000 } },
      unlimited: {},
    },
  };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Applies a JSON merge patch (RFC 7396): objects merge, null removes, anything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name], value);
  }
  return merged;
}

export interface ConfigOptions {
  readonly targets: readonly string[];
  readonly config?: Json;
  readonly openapi?: Json;
  /** File name of the OpenAPI document. */
  readonly document?: string;
}

/**
 * Writes `gateway.yaml` and its OpenAPI document into the folder, and returns the path of `gateway.yaml`. Replaces an
 * existing `gateway.yaml` atomically. Merges `config` over the default (RFC 7396), but appends its `operations`.
 */
export function writeConfig(
  folder: string,
  { targets, config = {}, openapi = testOpenapi, document = 'backend.openapi.yaml' }: ConfigOptions,
): string {
  const defaults = defaultConfig(targets, document);
  const merged = mergePatch(defaults, config) as Record<string, unknown>;
  if (Array.isArray(config['operations'])) {
    merged['operations'] = [...(defaults['operations'] as unknown[]), ...config['operations']];
  }
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, document), stringify(openapi));
  const path = join(folder, 'gateway.yaml');
  writeFileSync(`${path}.next`, stringify(merged));
  renameSync(`${path}.next`, path);
  return path;
}
