/**
 * Reads the operations of an OpenAPI document, with ID, cost, parameters, and scopes from `security`. Mistakes become
 * problems or warnings.
 */
import type { OpenApiDocument } from './openapi-document.js';
import { resolveReference } from './openapi-references.js';
import type { JsonObject } from './openapi-traversal.js';
import { isObject } from './openapi-traversal.js';
import { templateFault } from './path-template.js';
import { defaultScopesOf, type DocumentSettings } from './document-settings.js';
import type { ConfigProblem, DocumentPath } from '../model/problem.js';
import type { ToolSettings } from '../model/mcp-schema.js';
import { ID_MESSAGE, ID_PATTERN } from '../model/operation-schema.js';
import { SCOPE_PATTERN } from '../model/values.js';
import type { Emits, LifeCycleDates } from '../model/schema.js';
import type { OwnKeys } from './key-retention.js';
import type { SourceDocument } from '../source/source-document.js';

export const OPENAPI_METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;
const MAX_COST = 1_000_000;

/** An operation as a document or an `operations` entry describes it, before both are merged. */
export interface OperationDraft {
  readonly method: string;
  readonly template: string;
  readonly service: string;
  /** Name of the API that contains the operation. Undefined for the first API. */
  readonly api?: string;
  readonly id?: string;
  /** Required scopes. Undefined if neither the document nor the entry names scopes. */
  readonly scopes?: readonly string[];
  readonly cost?: number;
  readonly isWebSocket?: boolean;
  readonly takesSlashes?: boolean;
  readonly lifeCycle?: LifeCycleDates;
  readonly emits?: Emits;
  readonly keys?: OwnKeys;
  /** Operation Object of the document. Undefined if no document describes the operation. */
  readonly openapi?: JsonObject;
  /** File and path of the operation, at which its problems are reported. */
  readonly source: SourceDocument;
  readonly path: DocumentPath;
  /** Tool settings of the `operations` entry, which take precedence over those of the document. */
  readonly toolEntry?: ToolEntry;
}

/** Setting `mcp` of an `operations` entry, and the position of this setting. */
export interface ToolEntry {
  readonly settings: boolean | ToolSettings;
  readonly source: SourceDocument;
  readonly path: DocumentPath;
}

/** Result of `readOperations`. */
export interface OperationsReading {
  readonly drafts: OperationDraft[];
  /** Valid path templates that have unpublished operations. */
  readonly unpublished: string[];
  readonly problems: ConfigProblem[];
  readonly warnings: ConfigProblem[];
}

/**
 * Reads all operations of a document. Mistakes become problems at their line. Operations that cannot be routed are left
 * out, with a warning if the path is valid OpenAPI.
 */
export function readOperations(
  service: string,
  document: OpenApiDocument,
  levers: DocumentSettings,
): OperationsReading {
  const drafts: OperationDraft[] = [];
  const unpublished = new Set<string>();
  const unroutable: string[] = [];
  const problems: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  let replacedCount = 0;
  const { value, source } = document;
  const paths = isObject(value['paths']) ? value['paths'] : {};
  for (const [template, reference] of Object.entries(paths)) {
    if (template.startsWith('x-')) continue;
    const path = ['paths', template];
    const pathItem = resolveReference(value, reference);
    if (!isObject(pathItem)) continue;
    const operations = OPENAPI_METHODS.flatMap((method) => {
      const operation = pathItem[method];
      return isObject(operation) ? [{ method, operation, isPublished: levers.publishes(template, operation) }] : [];
    });
    const published = operations.filter(({ isPublished }) => isPublished);
    const fault = templateFault(template);
    if (fault === undefined && published.length < operations.length) unpublished.add(template);
    if (fault !== undefined && operations.length > 0) unroutable.push(template);
    if (published.length === 0 && operations.length > 0) continue;
    if (fault !== undefined) {
      const report = (more = ''): ConfigProblem =>
        source.problem(path, `the path ${fault.message}${more}`, fault.hint, 'key');
      // A path without a leading slash is not valid OpenAPI.
      if (template.startsWith('/')) warnings.push(report(', so its operations are left out'));
      else problems.push(report());
      continue;
    }
    problems.push(...besideReference(reference, path, source));
    if (Object.hasOwn(pathItem, 'trace')) {
      const hint = 'remove it: a web page could use it to read keys';
      warnings.push(source.problem([...path, 'trace'], 'TRACE cannot be published, so it is left out', hint, 'key'));
    }
    for (const { method, operation } of published) {
      const at = [...path, method];
      const scopes = readScopes(operation, value, at, source);
      const defaultScopes = defaultScopesOf(levers.scopes, method.toUpperCase());
      // The default scopes of the service replace invalid scopes. They must not be empty, because an operation that
      // requires scopes must not become open to every key. Keep the valid scopes of the operation.
      const usesDefaultScopes = scopes.problems.length > 0 && defaultScopes !== undefined && defaultScopes.length > 0;
      if (usesDefaultScopes) replacedCount++;
      else problems.push(...scopes.problems);
      const requiredScopes = usesDefaultScopes
        ? [...new Set([...(scopes.scopes ?? []), ...defaultScopes])]
        : scopes.scopes;
      const cost = readCost(operation, at, source);
      problems.push(...cost.problems);
      const id = readId(operation, at, source);
      problems.push(...id.problems);
      drafts.push({
        method: method.toUpperCase(),
        template,
        service,
        ...(id.id === undefined ? {} : { id: id.id }),
        ...(requiredScopes === undefined ? {} : { scopes: requiredScopes }),
        ...(cost.cost === undefined ? {} : { cost: cost.cost }),
        openapi: withParameters(operation, pathItem, value),
        source,
        path: at,
      });
    }
  }
  if (replacedCount > 0) warnings.push(replacedWarning(replacedCount, service, source));
  problems.push(...shadowedPathProblems(unroutable, drafts, source));
  return { drafts, unpublished: [...unpublished], problems, warnings };
}

/**
 * Reports a path that cannot be routed, if a published operation would receive the requests for this path. The gateway
 * would then check the wrong scopes. This happens if the path has fixed text where the operation has a parameter.
 */
function shadowedPathProblems(
  unroutable: readonly string[],
  drafts: readonly OperationDraft[],
  source: SourceDocument,
): ConfigProblem[] {
  return unroutable.flatMap((template) => {
    const segments = template.split('/');
    const wildcard = segments.findIndex((segment) => /\*|\+\}/.test(segment) && WHOLE_PARAMETER.test(segment));
    const known = wildcard === -1 ? segments : segments.slice(0, wildcard);
    const receiver = drafts.find((draft) => {
      const others = draft.template.split('/');
      if (wildcard === -1 ? others.length !== known.length : others.length <= known.length) return false;
      const isCovered = (segment: string, at: number): boolean =>
        others[at]!.includes('{') && !WHOLE_PARAMETER.test(segment);
      return known.every((segment, at) => couldBeSame(segment, others[at]!)) && known.some(isCovered);
    });
    if (receiver === undefined) return [];
    const message = `cannot be routed, and \`${receiver.method} ${receiver.template}\` would take its requests`;
    const hint = 'rename one of them, or leave the other out with `exclude`';
    return [source.problem(['paths', template], `the path ${message}`, hint, 'key')];
  });
}

/**
 * Matches a segment that is a parameter or a wildcard, in the syntax of several routers: `{id}`, `{id*}`, `:id`, `**`.
 */
const WHOLE_PARAMETER = /^(?:\{[^{}]*\}|:[^{}]+|\*+)$/;

/** Reports whether a segment of a published template can match the same requests as a segment of an unroutable path. */
function couldBeSame(segment: string, published: string): boolean {
  return published.includes('{') || decoded(segment).toLowerCase() === published.toLowerCase();
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function replacedWarning(count: number, service: string, source: SourceDocument): ConfigProblem {
  const which = count === 1 ? '1 operation names' : `${count} operations name`;
  const message = `${which} alternatives, or scopes that are not resource:verb: \`scopes\` of \`${service}\` are used instead`;
  return source.problem(['paths'], message, 'see `trailgate operations` for the scopes of each', 'key');
}

/**
 * Reports keys next to `$ref` of a path item, which the gateway does not read (OpenAPI, Path Item Object). Exceptions
 * are `summary`, `description` and extensions.
 */
function besideReference(pathItem: unknown, path: DocumentPath, source: SourceDocument): ConfigProblem[] {
  if (!isObject(pathItem) || !Object.hasOwn(pathItem, '$ref')) return [];
  return Object.keys(pathItem)
    .filter((key) => !['$ref', 'summary', 'description'].includes(key) && !key.startsWith('x-'))
    .map((key) => {
      const hint = 'move it to the path item that the reference names';
      return source.problem([...path, key], `\`${key}\` beside a \`$ref\` is not read`, hint, 'key');
    });
}

/** Returns the identity of a parameter. Names of headers are case-insensitive (RFC 9110 section 5.1). */
function keyOf({ in: where, name }: JsonObject): string {
  return `${String(where)}:${where === 'header' ? String(name).toLowerCase() : String(name)}`;
}

/**
 * Returns the operation with all its parameters, whose references are resolved. Adds the parameters of the path item.
 * Parameters of the operation take precedence (OpenAPI, Operation Object).
 */
function withParameters(operation: JsonObject, pathItem: JsonObject, document: JsonObject): JsonObject {
  const parameters = new Map<string, unknown>();
  for (const list of [pathItem['parameters'], operation['parameters']]) {
    if (!Array.isArray(list)) continue;
    for (const reference of list) {
      const parameter = resolveReference(document, reference);
      if (isObject(parameter)) parameters.set(keyOf(parameter), parameter);
    }
  }
  return parameters.size === 0 ? operation : { ...operation, parameters: [...parameters.values()] };
}

/**
 * Returns the scopes of the operation's `security`, or else of the document's `security`. Undefined if both name no
 * scopes. If there are problems, the list contains only the valid scopes. An empty list keeps the scopes from also
 * being reported as missing.
 */
function readScopes(
  operation: JsonObject,
  document: JsonObject,
  operationPath: DocumentPath,
  source: SourceDocument,
): { scopes?: readonly string[]; problems: ConfigProblem[] } {
  const isOwn = Object.hasOwn(operation, 'security');
  const requirements = isOwn ? operation['security'] : document['security'];
  if (!Array.isArray(requirements) || requirements.length === 0) return { problems: [] };
  const path = isOwn ? [...operationPath, 'security'] : ['security'];
  if (requirements.length > 1) {
    const message = 'the scopes of alternatives in `security` cannot be told apart';
    return {
      scopes: [],
      problems: [
        source.problem(path, message, 'write one requirement with all scopes, or set `scopes` of the service'),
      ],
    };
  }
  const problems: ConfigProblem[] = [];
  const scopes = new Set<string>();
  for (const [scheme, names] of Object.entries(isObject(requirements[0]) ? requirements[0] : {})) {
    for (const [index, name] of (Array.isArray(names) ? names : []).entries()) {
      if (typeof name === 'string' && SCOPE_PATTERN.test(name)) {
        scopes.add(name);
      } else {
        const message = `the scope \`${String(name)}\` must be resource:verb, for example customers:read`;
        problems.push(source.problem([...path, 0, scheme, index], message, 'lower-case letters, digits, - and _'));
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
  return { problems: [source.problem([...path, 'x-trailgate-cost'], message, 'how many requests one call counts as')] };
}

function readId(
  operation: JsonObject,
  path: DocumentPath,
  source: SourceDocument,
): { id?: string; problems: ConfigProblem[] } {
  const id = operation['operationId'];
  if (typeof id !== 'string') return { problems: [] };
  if (ID_PATTERN.test(id)) return { id, problems: [] };
  return {
    problems: [source.problem([...path, 'operationId'], `the operationId ${ID_MESSAGE}`, 'choose a short name')],
  };
}
