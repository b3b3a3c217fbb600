/** A temporary folder with a `gateway.yaml` and what it names, loaded as the program loads it. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatProblems } from '../../src/config/check.js';
import { readEnvironment } from '../../src/config/model/environment.js';
import { loadConfig } from '../../src/config/load.js';
import { validatorFor } from '../../src/config/openapi/openapi-structure.js';
import type { ConfigProblem } from '../../src/config/model/problem.js';
import type { LoadedConfig } from '../../src/config/model/loaded-config.js';

/** File texts by name; `gateway.yaml` is the one that is loaded. */
export type ConfigFiles = Readonly<Record<string, string>>;

/** The configuration of these files. @throws Error with the problems, where there are any. */
export async function configOf(files: ConfigFiles, variables: Record<string, string> = {}): Promise<LoadedConfig> {
  const result = await load(files, variables);
  if ('problems' in result) throw new Error(formatProblems(result.problems));
  return result.config;
}

/** The problems of these files; none where they are right. */
export async function problemsOf(
  files: ConfigFiles,
  variables: Record<string, string> = {},
): Promise<readonly ConfigProblem[]> {
  const result = await load(files, variables);
  return 'problems' in result ? result.problems : [];
}

/** The warnings of these files, which have no problem. */
export async function warningsOf(
  files: ConfigFiles,
  variables: Record<string, string> = {},
): Promise<readonly ConfigProblem[]> {
  const result = await load(files, variables);
  if ('problems' in result) throw new Error(formatProblems(result.problems));
  return result.warnings;
}

/** The program lets go of its validator, so that its memory is free; a test that needs it anew waits for it. */
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

/** One service, one plan; wants `OPENAPI` as customers.yaml. */
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
