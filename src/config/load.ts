/** Reads `gateway.yaml` and the OpenAPI documents that it names, and checks the whole: every problem at once. */
import { dirname, resolve } from 'node:path';
import { crossProblems } from './cross-checks.js';
import { fileProblems, isReadable } from './file-checks.js';
import type { Variables } from './environment.js';
import { readOpenApi } from './openapi-document.js';
import type { OperationDraft } from './openapi-operations.js';
import { readOperations } from './openapi-operations.js';
import type { JsonObject } from './openapi-traversal.js';
import { isObject } from './openapi-traversal.js';
import { mergeOperations } from './operations.js';
import { parse } from './parse.js';
import { planWarnings } from './plan-warnings.js';
import type { ConfigProblem } from './problem.js';
import { formatPath, sortProblems } from './problem.js';
import type { Config, Environment, GatewayFile } from './schema.js';
import { schemaProblems, valueAt } from './schema-problems.js';
import { SourceDocument } from './source-document.js';
import { substituteVariables } from './substitute.js';

/** A configuration that can be run, with what is hardly meant in it; or what keeps it from being run. */
export type LoadResult =
  | { readonly config: Config; readonly warnings: readonly ConfigProblem[] }
  | {
      readonly problems: readonly ConfigProblem[];
      /** OpenAPI documents that it names, absolute, as far as it could be read: whoever mends one of them changes it. */
      readonly files: readonly string[];
    };

/**
 * Loads the configuration. Never throws for what a person wrote: faults come back together, sorted by file and line.
 * @param path `gateway.yaml`; the files that it names are relative to its folder.
 * @param environment Ports in it replace those of the file.
 * @param variables What `${NAME}` in the file stands for.
 */
export async function loadConfig(
  path: string,
  environment: Environment,
  variables: Variables = process.env,
): Promise<LoadResult> {
  const file = resolve(path);
  const { source, problems } = await SourceDocument.read(file);
  if (source === undefined) return { problems: sortProblems(problems), files: [] };

  const substitution = substituteVariables(source, variables);
  problems.push(...substitution.problems);
  let value: unknown;
  try {
    value = source.toJS() ?? {};
  } catch (error) {
    return { problems: [source.problem([], `is not valid YAML: ${(error as Error).message}`)], files: [] };
  }
  const parsed = parse(value, substitution.paths);
  const unset = new Set(substitution.problems.map((problem) => problem.path));
  if (!parsed.success) {
    // A value whose variable is missing is wrong for that reason alone.
    const issues = parsed.issues.filter((issue) => !unset.has(formatPath(issue.path as (string | number)[])));
    problems.push(...schemaProblems(issues, value, source));
  }

  const described = await readServices(source, value);
  problems.push(...described.problems);
  const services = valueAt(value, ['services']);
  const merged = mergeOperations(described.drafts, {
    source,
    value: valueAt(value, ['operations']),
    services: new Set(isObject(services) ? Object.keys(services) : []),
    areDocumentsComplete: described.isComplete,
  });
  problems.push(
    ...merged.problems,
    ...crossProblems(source, value, environment),
    ...(await fileProblems(source, value)),
  );
  if (problems.length > 0 || !parsed.success) return { problems: sortProblems(problems), files: described.files };

  const fileWithPorts = withPorts(parsed.data, environment);
  const config: Config = {
    file: fileWithPorts,
    environment,
    path: file,
    operations: merged.operations,
    documents: described.documents,
    publicUrl: publicUrlOf(fileWithPorts),
  };
  return { config, warnings: sortProblems(planWarnings(source, parsed.data.plans, merged.operations)) };
}

/**
 * The origin that integrators use: `api.publicUrl`, else made from the listener, where "any address" reads `localhost`.
 * @param port The port really bound, where it differs from the file's (0 means any free port).
 */
export function publicUrlOf(file: GatewayFile, port = file.gateway.port): string {
  if (file.api.publicUrl !== undefined) return file.api.publicUrl.replace(/\/$/, '');
  const { host, tls } = file.gateway;
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  const scheme = tls === undefined ? 'http' : 'https';
  const isDefaultPort = port === (tls === undefined ? 80 : 443);
  return `${scheme}://${name}${isDefaultPort ? '' : `:${port}`}`;
}

interface DescribedServices {
  readonly documents: Map<string, JsonObject>;
  readonly drafts: OperationDraft[];
  readonly problems: ConfigProblem[];
  /** The documents' files, absolute. */
  readonly files: string[];
  /** False where a document that is named could not be used. */
  readonly isComplete: boolean;
}

async function readServices(source: SourceDocument, value: unknown): Promise<DescribedServices> {
  const documents = new Map<string, JsonObject>();
  const drafts: OperationDraft[] = [];
  const problems: ConfigProblem[] = [];
  const files: string[] = [];
  let isComplete = true;
  const services = valueAt(value, ['services']);
  for (const name of isObject(services) ? Object.keys(services) : []) {
    const path = ['services', name, 'openapi'];
    const openapi = valueAt(value, path);
    if (typeof openapi !== 'string' || openapi === '') continue;
    const file = resolve(dirname(source.file), openapi);
    files.push(file);
    if (!(await isReadable(file))) {
      problems.push(source.problem(path, `the OpenAPI document ${openapi} cannot be read`, `looked for ${file}`));
      isComplete = false;
      continue;
    }
    const { document, problems: found } = await readOpenApi(file);
    problems.push(...found);
    if (document === undefined) {
      isComplete = false;
      continue;
    }
    documents.set(name, document.value);
    const read = readOperations(name, document);
    drafts.push(...read.drafts);
    problems.push(...read.problems);
  }
  return { documents, drafts, problems, files, isComplete };
}

function withPorts(file: GatewayFile, environment: Environment): GatewayFile {
  return {
    ...file,
    gateway: { ...file.gateway, port: environment.gatewayPort ?? file.gateway.port },
    admin: { ...file.admin, port: environment.adminPort ?? file.admin.port },
  };
}
