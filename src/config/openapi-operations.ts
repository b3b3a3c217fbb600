/** The operations of one OpenAPI document: method, template, and the scopes that stand in `security`. */
import type { OpenApiDocument } from './openapi-document.js';
import { resolveReference } from './openapi-document.js';
import type { JsonObject } from './openapi-traversal.js';
import { isObject } from './openapi-traversal.js';
import { templateProblem } from './path-template.js';
import type { ConfigProblem, DocumentPath } from './problem.js';
import { SCOPE_PATTERN, type LifeCycleDates } from './schema.js';
import type { SourceDocument } from './source-document.js';

export const OPENAPI_METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;
const MAX_COST = 1_000_000;

/** An operation before the entries of `operations` are applied. */
export interface OperationDraft {
  readonly method: string;
  readonly template: string;
  readonly service: string;
  readonly id?: string;
  /** Undefined: nothing names them yet. */
  readonly scopes?: readonly string[];
  readonly cost?: number;
  readonly isWebSocket?: boolean;
  readonly lifeCycle?: LifeCycleDates;
  readonly openapi?: JsonObject;
  readonly source: SourceDocument;
  readonly path: DocumentPath;
}

/** Reads every operation; what cannot be used is a problem at its line. */
export function readOperations(
  service: string,
  document: OpenApiDocument,
): { drafts: OperationDraft[]; problems: ConfigProblem[] } {
  const drafts: OperationDraft[] = [];
  const problems: ConfigProblem[] = [];
  const { value, source } = document;
  const paths = isObject(value['paths']) ? value['paths'] : {};
  for (const [template, reference] of Object.entries(paths)) {
    if (template.startsWith('x-')) continue;
    const path = ['paths', template];
    const wrong = templateProblem(template);
    if (wrong !== undefined) {
      problems.push(source.problem(path, `the path ${wrong}`, undefined, 'key'));
      continue;
    }
    const pathItem = resolveReference(value, reference);
    if (!isObject(pathItem)) continue;
    if ('trace' in pathItem)
      problems.push(source.problem([...path, 'trace'], 'TRACE cannot be published', undefined, 'key'));
    for (const method of OPENAPI_METHODS) {
      const operation = pathItem[method];
      if (!isObject(operation)) continue;
      const at = [...path, method];
      const scopes = readScopes(operation, value, at, source);
      problems.push(...scopes.problems);
      const cost = readCost(operation, at, source);
      problems.push(...cost.problems);
      drafts.push({
        method: method.toUpperCase(),
        template,
        service,
        ...(typeof operation['operationId'] === 'string' ? { id: operation['operationId'] } : {}),
        ...(scopes.scopes === undefined ? {} : { scopes: scopes.scopes }),
        ...(cost.cost === undefined ? {} : { cost: cost.cost }),
        openapi: withParameters(operation, pathItem, value),
        source,
        path: at,
      });
    }
  }
  return { drafts, problems };
}

/** The operation with the parameters of its path item, references resolved; its own win (OpenAPI, Operation Object). */
function withParameters(operation: JsonObject, pathItem: JsonObject, document: JsonObject): JsonObject {
  const parameters = new Map<string, unknown>();
  for (const list of [pathItem['parameters'], operation['parameters']]) {
    if (!Array.isArray(list)) continue;
    for (const reference of list) {
      const parameter = resolveReference(document, reference);
      if (isObject(parameter)) parameters.set(`${String(parameter['in'])}:${String(parameter['name'])}`, parameter);
    }
  }
  return parameters.size === 0 ? operation : { ...operation, parameters: [...parameters.values()] };
}

/** Scopes of the operation's `security`, else of the document's. A fault is answered with `[]`, so that it is told once. */
function readScopes(
  operation: JsonObject,
  document: JsonObject,
  operationPath: DocumentPath,
  source: SourceDocument,
): { scopes?: readonly string[]; problems: ConfigProblem[] } {
  const isOwn = 'security' in operation;
  const requirements = isOwn ? operation['security'] : document['security'];
  if (!Array.isArray(requirements) || requirements.length === 0) return { problems: [] };
  const path = isOwn ? [...operationPath, 'security'] : ['security'];
  if (requirements.length > 1) {
    const message = 'the scopes of alternatives in `security` cannot be told apart';
    return { scopes: [], problems: [source.problem(path, message, 'write one requirement')] };
  }
  const problems: ConfigProblem[] = [];
  const scopes = new Set<string>();
  for (const [scheme, names] of Object.entries(isObject(requirements[0]) ? requirements[0] : {})) {
    for (const [index, name] of (Array.isArray(names) ? names : []).entries()) {
      if (typeof name === 'string' && SCOPE_PATTERN.test(name)) {
        scopes.add(name);
      } else {
        const message = `the scope \`${String(name)}\` must be resource:verb, for example customers:read`;
        problems.push(source.problem([...path, 0, scheme, index], message));
      }
    }
  }
  if (problems.length > 0) return { scopes: [...scopes], problems };
  return scopes.size === 0 ? { problems } : { scopes: [...scopes], problems };
}

function readCost(
  operation: JsonObject,
  path: DocumentPath,
  source: SourceDocument,
): { cost?: number; problems: ConfigProblem[] } {
  const cost = operation['x-trailgate-cost'];
  if (cost === undefined) return { problems: [] };
  if (typeof cost === 'number' && Number.isInteger(cost) && cost >= 0 && cost <= MAX_COST)
    return { cost, problems: [] };
  const message = `\`x-trailgate-cost\` must be a whole number from 0 to ${MAX_COST}`;
  return { problems: [source.problem([...path, 'x-trailgate-cost'], message)] };
}
