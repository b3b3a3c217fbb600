/** Loads `gateway.yaml` and the OpenAPI documents that it names, and reports all problems at once. */
import { dirname, resolve } from 'node:path';
import { readEventTypes } from './event-types.js';
import { readWebhooks, type WebhookDraft } from './openapi/openapi-webhooks.js';
import { systemClock } from '../platform/clock.js';
import { adminWarnings, secretsWarnings } from './checks/admin-checks.js';
import { ReadApis } from './openapi/read-apis.js';
import { crossProblems } from './checks/cross-checks.js';
import { emitsProblems } from './checks/emits-checks.js';
import { checkFiles } from './checks/file-checks.js';
import type { Variables } from './model/variables.js';
import { readOpenApi } from './openapi/openapi-document.js';
import type { OperationDraft } from './openapi/openapi-operations.js';
import { readOperations } from './openapi/openapi-operations.js';
import type { JsonObject } from './openapi/openapi-traversal.js';
import { isObject } from './openapi/openapi-traversal.js';
import { withKeyRetention, type MergedOperation } from './openapi/key-retention.js';
import { mergeOperations } from './openapi/operations.js';
import { DocumentSettings, serverWarnings } from './openapi/document-settings.js';
import { describeScopes } from './openapi/scope-words.js';
import { readTools } from './tools/making/read-tools.js';
import { parse } from './parse.js';
import { operationWarnings } from './checks/life-cycle-checks.js';
import { hostWarnings } from './checks/host-warnings.js';
import { planWarnings } from './checks/plan-warnings.js';
import { webhookWarnings } from './checks/webhook-warnings.js';
import type { ConfigProblem } from './model/problem.js';
import { sortProblems } from './model/problem.js';
import type { FileFault } from './source/read-file.js';
import { scalarProblems, scalarWarnings } from './checks/scalar-checks.js';
import type { DefaultScopes } from './model/service-schema.js';
import type { DescribedTool } from './model/described-tool.js';
import type { LoadedConfig } from './model/loaded-config.js';
import { apisOf } from './model/apis.js';
import type { Environment, EventType, GatewayFile, UnpublishedPath } from './model/schema.js';
import { schemaProblems, valueAt } from './checks/schema-problems.js';
import { SourceDocument } from './source/source-document.js';
import { substituteVariables } from './source/substitute.js';
import { GATEWAY_BOUNDS } from './source/yaml-parse.js';

const URL_START = /^[a-z][a-z0-9+.-]*:\/\//i;

/** LoadResult is either a valid configuration with its warnings, or the problems of an invalid configuration. */
export type LoadResult =
  | { readonly config: LoadedConfig; readonly warnings: readonly ConfigProblem[] }
  | {
      readonly problems: readonly ConfigProblem[];
      /**
       * Absolute paths of the OpenAPI documents, schemas and examples that the file names. A change of one of these
       * files can fix the problems.
       */
      readonly files: readonly string[];
    };

/**
 * Loads the configuration. Never throws for invalid content. Problems are sorted by file and line.
 * @param path path of `gateway.yaml`. The files that it names are relative to its folder.
 * @param environment settings from the environment. Its ports replace the ports of the file.
 * @param variables values for `${NAME}` in the file
 */
export async function loadConfig(
  path: string,
  environment: Environment,
  variables: Variables = process.env,
): Promise<LoadResult> {
  const file = resolve(path);
  const { source, problems, unreadable } = await SourceDocument.read(file, GATEWAY_BOUNDS);
  if (unreadable !== undefined) return { problems: [unreadableConfig(file, unreadable)], files: [] };
  if (source === undefined) return { problems: sortProblems(problems), files: [] };
  const substitution = substituteVariables(source, variables);
  problems.push(...scalarProblems(source), ...substitution.problems);
  const value = source.toJS();
  if (value === null || value === undefined) return { problems: [emptyConfig(source)], files: [] };
  const parsed = parse(value, substitution.paths);
  const issues = parsed.success ? [] : schemaProblems(parsed.issues, value, source, substitution.paths);
  problems.push(...withoutConsequences(problems, issues));

  const references = await checkReferences(source, value, environment);
  problems.push(...withoutConsequences(problems, references.problems));
  if (problems.length > 0 || !parsed.success) return { problems: sortProblems(problems), files: references.files };

  const fileWithPorts = withFirstApi(withPorts(parsed.data, environment));
  const operations = withKeyRetention(references.operations, fileWithPorts.services);
  const config: LoadedConfig = {
    file: fileWithPorts,
    environment,
    path: file,
    operations,
    unpublished: references.unpublished,
    tools: fileWithPorts.mcp.enabled ? references.tools : [],
    eventTypes: references.eventTypes,
    scopeWords: describeScopes(references.documents, operations),
    documents: references.documents,
    publicUrl: publicUrlOf(fileWithPorts),
  };
  const warnings = [
    ...adminWarnings(source, parsed.data.admin),
    ...secretsWarnings(source, environment),
    ...hostWarnings(source, parsed.data),
    ...operationWarnings(source, parsed.data, systemClock.now()),
    ...planWarnings(source, parsed.data.plans, references.operations),
    ...webhookWarnings(source, parsed.data, environment),
    ...references.warnings,
    ...scalarWarnings(source),
  ];
  return { config, warnings: sortProblems(warnings) };
}

/**
 * Reads the files that the configuration names, and checks them together with the configuration.
 * @param value unvalidated `gateway.yaml`; some values may be invalid
 */
async function checkReferences(
  source: SourceDocument,
  value: unknown,
  environment: Environment,
): Promise<{
  readonly operations: readonly MergedOperation[];
  readonly unpublished: readonly UnpublishedPath[];
  readonly tools: readonly DescribedTool[];
  readonly eventTypes: readonly EventType[];
  readonly documents: ReadonlyMap<string, JsonObject>;
  readonly files: readonly string[];
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}> {
  const apis = new ReadApis(value);
  const described = await readServices(source, value, apis);
  const merged = mergeOperations(described.drafts, {
    source,
    value: valueAt(value, ['operations']),
    services: new Set(serviceNames(value)),
    defaultScopes: described.defaultScopes,
    apis,
    areDocumentsComplete: described.isComplete,
  });
  const tools = readTools(merged.numbered, described.documents, described.unpublished);
  const tls = await checkFiles(source, value, systemClock);
  const events = await readEventTypes(source, valueAt(value, ['events']), described.webhooks);
  return {
    operations: merged.operations,
    unpublished: described.unpublished,
    tools: tools.tools,
    eventTypes: events.types,
    documents: described.documents,
    files: [...described.files, ...events.files],
    problems: [
      ...described.problems,
      ...merged.problems,
      ...tools.problems,
      ...apis.problems(source),
      ...crossProblems(source, value, environment),
      ...tls.problems,
      ...events.problems,
      ...emitsProblems(source, value, events.types),
    ],
    warnings: [...described.warnings, ...merged.warnings, ...tools.warnings, ...tls.warnings],
  };
}

/**
 * Returns the `further` problems, except those at the position of one of the `causes`. The first problem at a position
 * usually causes the others.
 */
function withoutConsequences(causes: readonly ConfigProblem[], further: readonly ConfigProblem[]): ConfigProblem[] {
  const positions = new Set(causes.map(positionOf));
  return further.filter((each) => !positions.has(positionOf(each)));
}

function positionOf({ file, line, column }: ConfigProblem): string {
  return `${file}:${line}:${column}`;
}

function unreadableConfig(file: string, { message, hint }: FileFault): ConfigProblem {
  return { file, line: 1, column: 1, path: '', message: `cannot be read: ${message}`, hint };
}

function emptyConfig(source: SourceDocument): ConfigProblem {
  return source.problem([], 'is empty', 'it needs at least `services` and `plans`: see the example in README.md');
}

/**
 * Returns the public origin without a trailing slash. The origin is the `publicUrl` of the first API, or else derived
 * from the listener. If the listener accepts any address, the host is `localhost`.
 * @param port the bound port, if it differs from the port in the file (0 means any free port)
 */
export function publicUrlOf(file: GatewayFile, port = file.gateway.port): string {
  const [first] = apisOf(file);
  if (first?.publicUrl !== undefined) return first.publicUrl.replace(/\/$/, '');
  const { host, tls } = file.gateway;
  const name = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host;
  const scheme = tls === undefined ? 'http' : 'https';
  const isDefaultPort = port === (tls === undefined ? 80 : 443);
  return `${scheme}://${name}${isDefaultPort ? '' : `:${port}`}`;
}

interface DescribedServices {
  readonly documents: Map<string, JsonObject>;
  readonly drafts: OperationDraft[];
  /** Path templates that have unpublished operations. */
  readonly unpublished: UnpublishedPath[];
  readonly defaultScopes: Map<string, DefaultScopes>;
  readonly webhooks: WebhookDraft[];
  readonly problems: ConfigProblem[];
  readonly warnings: ConfigProblem[];
  /** Absolute paths of the documents. */
  readonly files: string[];
  /** False if a document could not be read, or is given as a URL. */
  readonly isComplete: boolean;
}

async function readServices(source: SourceDocument, value: unknown, apis: ReadApis): Promise<DescribedServices> {
  const documents = new Map<string, JsonObject>();
  const drafts: OperationDraft[] = [];
  const unpublished: UnpublishedPath[] = [];
  const defaultScopes = new Map<string, DefaultScopes>();
  const webhooks: WebhookDraft[] = [];
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const files: string[] = [];
  let isComplete = true;
  for (const name of serviceNames(value)) {
    const service = valueAt(value, ['services', name]);
    const levers = new DocumentSettings(service);
    if (levers.scopes !== undefined) defaultScopes.set(name, levers.scopes);
    const path = ['services', name, 'openapi'];
    const openapi = valueAt(value, path);
    if (typeof openapi !== 'string' || openapi === '') continue;
    if (URL_START.test(openapi)) {
      const hint = 'save the document beside this file, and name that: ./openapi.yaml';
      problems.push(source.problem(path, 'is a URL, and a document is read from a file', hint));
      isComplete = false;
      continue;
    }
    const file = resolve(dirname(source.file), openapi);
    files.push(file);
    const { document, problems: found, warnings: documentWarnings = [], unreadable } = await readOpenApi(file);
    if (unreadable !== undefined) {
      const message = `the OpenAPI document ${openapi} cannot be read: ${unreadable.message}`;
      problems.push(source.problem(path, message, unreadable.hint));
    }
    if (document === undefined) {
      isComplete = false;
      problems.push(...found);
      continue;
    }
    documents.set(name, document.value);
    const read = readOperations(name, document, levers);
    const api = apis.ofService(name);
    const ofApi = api === undefined ? {} : { api };
    drafts.push(...read.drafts.map((draft) => ({ ...draft, ...ofApi })));
    unpublished.push(...read.unpublished.map((template) => ({ ...ofApi, template })));
    const servers = serverWarnings(document.value, document.source, service, apis.basePath(api));
    warnings.push(...documentWarnings, ...read.warnings, ...servers);
    problems.push(...levers.unusedProblems(name, source));
    const webhookReading = readWebhooks(name, document);
    webhooks.push(...webhookReading.drafts);
    warnings.push(...webhookReading.warnings);
    // The gateway's own messages are clearer than messages of the OpenAPI JSON Schema at the same position.
    problems.push(...read.problems, ...withoutConsequences(read.problems, found));
  }
  return { documents, drafts, unpublished, defaultScopes, webhooks, problems, warnings, files, isComplete };
}

function serviceNames(value: unknown): string[] {
  const services = valueAt(value, ['services']);
  return isObject(services) ? Object.keys(services) : [];
}

/** Replaces `api` with the first entry of `apis`, if there are any entries. */
function withFirstApi(file: GatewayFile): GatewayFile {
  const [first] = file.apis ?? [];
  if (first === undefined) return file;
  const { name: _, hosts: __, ...api } = first;
  return { ...file, api };
}

/** Returns the file with the ports from the environment, if the environment sets them. */
function withPorts(file: GatewayFile, environment: Environment): GatewayFile {
  return {
    ...file,
    gateway: { ...file.gateway, port: environment.gatewayPort ?? file.gateway.port },
    admin: { ...file.admin, port: environment.adminPort ?? file.admin.port },
  };
}
