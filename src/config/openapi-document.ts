/** Reads the OpenAPI document of one service: parsed, of a version that we know, and valid against the standard's schema. */
import type { JsonObject } from './openapi-traversal.js';
import { isObject, visitObjects } from './openapi-traversal.js';
import type { ConfigProblem } from './problem.js';
import { SourceDocument } from './source-document.js';

/** A valid document and where its parts stand. */
export interface OpenApiDocument {
  readonly source: SourceDocument;
  readonly value: JsonObject;
}

interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const MAX_REPORTED_ERRORS = 20;
/** What these say is said better by the errors below them. */
const UMBRELLA_KEYWORDS = new Set(['oneOf', 'anyOf', 'allOf', 'if', '$ref', '$dynamicRef', 'not']);

/**
 * Reads, parses and validates; never throws. A document with faults is still given where it could be parsed, so that the
 * rest of it can be looked at too; without `document` there is at least one problem.
 */
export async function readOpenApi(file: string): Promise<{ document?: OpenApiDocument; problems: ConfigProblem[] }> {
  const { source, problems } = await SourceDocument.read(file);
  if (source === undefined || problems.length > 0) return { problems };
  let value: unknown;
  try {
    value = source.toJS();
    JSON.stringify(value); // throws for an alias that stands within its own anchor
  } catch (error) {
    return { problems: [source.problem([], `is not valid YAML: ${firstLine(error)}`)] };
  }
  if (!isObject(value)) return { problems: [source.problem([], 'is not an OpenAPI document: it must be a map')] };
  if (typeof value['openapi'] !== 'string' || !/^3\.[01]\.\d+/.test(value['openapi'])) {
    const found = value['openapi'] ?? value['swagger'];
    const message = found === undefined ? 'has no `openapi` version' : `has version ${String(found)}`;
    const path = 'openapi' in value ? ['openapi'] : 'swagger' in value ? ['swagger'] : [];
    return { problems: [source.problem(path, `the OpenAPI document ${message}`, 'OpenAPI 3.0.x and 3.1.x are read')] };
  }
  problems.push(...(await structureProblems(value, source)), ...referenceProblems(value, source));
  return { document: { source, value }, problems };
}

/** The part of a document that a local reference names; undefined where there is none. Follows chains, not circles. */
export function resolveReference(document: JsonObject, value: unknown): unknown {
  let current = value;
  for (let hops = 0; isObject(current) && typeof current['$ref'] === 'string'; hops++) {
    if (hops === 32) return undefined;
    current = lookUp(document, current['$ref']);
  }
  return current;
}

function lookUp(document: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  return pointerPath(safeDecode(reference.slice(1))).reduce<unknown>(
    (node, part) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, part) ? node[part as never] : undefined,
    document,
  );
}

function referenceProblems(value: JsonObject, source: SourceDocument): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  visitObjects(value, (object, path) => {
    const reference = object['$ref'];
    if (typeof reference !== 'string') return;
    if (!reference.startsWith('#')) {
      const hint = 'bundle the document into one file; references must begin with #/';
      problems.push(source.problem([...path, '$ref'], `\`${reference}\` leads outside of this document`, hint));
    } else if (reference.startsWith('#/') && lookUp(value, reference) === undefined) {
      problems.push(source.problem([...path, '$ref'], `\`${reference}\` names nothing in this document`));
    }
  });
  return problems;
}

async function structureProblems(value: JsonObject, source: SourceDocument): Promise<ConfigProblem[]> {
  // Loaded only here: compiling the standard's schema takes a while, and most commands read no document.
  const { Validator } = await import('@seriousme/openapi-schema-validator');
  let result: { valid: boolean; errors?: unknown };
  try {
    result = await new Validator({ allErrors: true }).validate(structuredClone(value));
  } catch (error) {
    return [source.problem([], `is not valid OpenAPI: ${(error as Error).message}`)];
  }
  if (result.valid) return [];
  // A text instead of a list is about references, which we report ourselves with their lines.
  if (!Array.isArray(result.errors)) return [];
  const errors = result.errors as SchemaError[];
  const deepest = errors.filter(
    (error) =>
      !UMBRELLA_KEYWORDS.has(error.keyword) &&
      error.params?.['missingProperty'] !== '$ref' &&
      !errors.some(
        (other) => other.instancePath.startsWith(`${error.instancePath}/`) && isUnderUmbrella(errors, error),
      ),
  );
  return (deepest.length > 0 ? deepest : errors).slice(0, MAX_REPORTED_ERRORS).map((error) => {
    const extra = error.params?.['additionalProperty'] ?? error.params?.['unevaluatedProperty'];
    const path = pointerPath(error.instancePath);
    if (typeof extra !== 'string') return source.problem(path, `is not valid OpenAPI: ${describe(error)}`);
    return source.problem([...path, extra], `is not valid OpenAPI: unknown key \`${extra}\``, undefined, 'key');
  });
}

/** True where an error is one branch of several that were tried, so that it may not be the real cause. */
function isUnderUmbrella(errors: readonly SchemaError[], error: SchemaError): boolean {
  return errors.some((other) => UMBRELLA_KEYWORDS.has(other.keyword) && other.instancePath === error.instancePath);
}

function describe(error: SchemaError): string {
  const allowed = error.params?.['allowedValues'];
  return Array.isArray(allowed) ? `must be one of ${allowed.join(', ')}` : (error.message ?? error.keyword);
}

/** A JSON Pointer (RFC 6901) as a list of keys. */
function pointerPath(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function firstLine(error: unknown): string {
  return (error as Error).message.split('\n')[0] ?? '';
}
