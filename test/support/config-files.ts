/**
 * Writes a `gateway.yaml` and the files that it refers to into a temporary folder, and loads them as the program does.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatProblems } from '../../src/config/check.js';
import { readEnvironment } from '../../src/config/model/environment.js';
import { loadConfig } from '../../src/config/load.js';
import { validatorFor } from '../../src/config/openapi/openapi-structure.js';
import type { ConfigProblem } from '../../src/config/model/problem.js';
import type { LoadedConfig } from '../../src/config/model/loaded-config.js';

/** File contents by name. The program loads `gateway.yaml`. */
export type ConfigFiles = Readonly<Record<string, string>>;

/**
 * Loads the files and returns the configuration.
 * @throws Error that lists the problems, if there are any
 */
export async function configOf(files: ConfigFiles, variables: Record<string, string> = {}): Promise<LoadedConfig> {
  const result = await load(files, variables);
  if ('problems' in result) throw new Error(formatProblems(result.problems));
  return result.config;
}

/** Loads the files and returns their problems. The list is empty if the configuration is valid. */
export async function problemsOf(
  files: ConfigFiles,
  variables: Record<string, string> = {},
): Promise<readonly ConfigProblem[]> {
  const result = await load(files, variables);
  return 'problems' in result ? result.problems : [];
}

/**
 * Loads the files and returns their warnings.
 * @throws Error that lists the problems, if there are any
 */
export async function warningsOf(
  files: ConfigFiles,
  variables: Record<string, string> = {},
): Promise<readonly ConfigProblem[]> {
  const result = await load(files, variables);
  if ('problems' in result) throw new Error(formatProblems(result.problems));
  return result.warnings;
}

/**
 * Keeps the OpenAPI validator in memory for all tests, because creating it takes long. The program itself lets it go.
 */
let validator: unknown;

async function load(files: ConfigFiles, variables: Record<string, string>): ReturnType<typeof loadConfig> {
  validator ??= await validatorFor(false);
  const folder = await mkdtemp(join(tmpdir(), 'trailgate-config-'));
  try {
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
    return await loadConfig(join(folder, 'gateway.yaml'), readEnvironment(variables), variables);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A configuration with one service and one plan. Needs `OPENAPI` as `customers.yaml`. */
export const MINIMAL = `
services:
  customers:
    targets: [http://127.0.0.1:4001]
    openapi: ./customers.yaml
plans:
  starter: { key: { minute: 60 } }
`;

export const OPENAPI = `
openapi: 3.1.1
info: { title: Customers, version: '1' }
security: [{ key: ['customers:read'] }]
paths:
  /customers:
    get: { operationId: listCustomers, responses: { '200': { description: Customers } } }
    post:
      security: [{ key: ['customers:write'] }]
      x-trailgate-cost: 5
      responses: { '201': { description: Created } }
  /customers/{id}:
    parameters: [{ $ref: '#/components/parameters/Id' }]
    get: { responses: { '200': { description: One } } }
components:
  securitySchemes: { key: { type: http, scheme: bearer } }
  parameters: { Id: { name: id, in: path, required: true, schema: { type: string } } }
`;
