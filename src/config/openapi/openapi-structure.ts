/** Validates an OpenAPI document against the JSON Schema of its OpenAPI version. Violations become problems. */
import type { Validator } from '@seriousme/openapi-schema-validator';
import type { JsonObject } from './openapi-traversal.js';
import { isObject } from './openapi-traversal.js';
import { pointerPath } from './openapi-references.js';
import type { ConfigProblem } from '../model/problem.js';
import type { SourceDocument } from '../source/source-document.js';

interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  readonly message?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const MAX_REPORTED_ERRORS = 20;
/** Maximum number of entries per section, and per kind of component, that are searched for all errors. */
const MAX_ENTRIES = 200;
const DEFAULT_HINT = 'https://spec.openapis.org/oas/ has the fields of every object';
/** Keywords whose errors only summarize more specific errors. */
const UMBRELLA_KEYWORDS = new Set(['oneOf', 'anyOf', 'allOf', 'if', '$ref', '$dynamicRef', 'not']);

/** Returns the violations of the OpenAPI schema, at most 20. Reports only violations near the first one. */
export async function structureProblems(value: JsonObject, source: SourceDocument): Promise<ConfigProblem[]> {
  const [first] = await errorsOf(value, false);
  if (first === undefined) return [];
  // Finding all errors takes quadratic time, so search only the part of the document near the first error.
  const nearby = await errorsOf(excerpt(value, pointerPath(first.instancePath)), true);
  return causes(nearby.length > 0 ? nearby : [first])
    .slice(0, MAX_REPORTED_ERRORS)
    .map((error) => problemOf(error, source));
}

/** Options for fast compilation. The standard's schema is known to be valid. */
const FAST_COMPILATION = { validateSchema: false, code: { optimize: false } };

/** Cache of validators by `allErrors`, with their compiled schemas. The garbage collector can remove a validator. */
const validators = new Map<boolean, WeakRef<Validator>>();

/**
 * Returns a validator from the cache, or a new validator. Compiling its schema takes longer than validating most
 * documents. Tests keep a reference to the validator, so that it stays in the cache.
 */
export async function validatorFor(allErrors: boolean): Promise<Validator> {
  // Import the module on demand, because most commands read no document.
  const { Validator } = await import('@seriousme/openapi-schema-validator');
  let validator = validators.get(allErrors)?.deref();
  if (validator === undefined) {
    validator = new Validator({ allErrors, ...FAST_COMPILATION });
    validators.set(allErrors, new WeakRef(validator));
  }
  return validator;
}

async function errorsOf(value: JsonObject, allErrors: boolean): Promise<readonly SchemaError[]> {
  const validator = await validatorFor(allErrors);
  try {
    const { errors } = await validator.validate(structuredClone(value));
    // If `errors` is a string, it concerns references. `referenceProblems` reports those with their lines.
    return Array.isArray(errors) ? (errors as SchemaError[]) : [];
  } catch (error) {
    return [{ instancePath: '', keyword: '', message: (error as Error).message }];
  }
}

/** Returns the document with at most `MAX_ENTRIES` entries per section and kind of component, starting at `path`. */
function excerpt(value: JsonObject, path: readonly string[]): JsonObject {
  const [section = '', name = '', component = ''] = path;
  const cut = (map: unknown, from: string): unknown => {
    if (!isObject(map)) return Array.isArray(map) ? map.slice(0, MAX_ENTRIES) : map;
    const keys = Object.keys(map);
    // Keep small maps complete. An incomplete `info`, for example, would cause additional errors.
    if (keys.length <= MAX_ENTRIES) return map;
    const begin = Math.max(0, keys.indexOf(from));
    return Object.fromEntries(keys.slice(begin, begin + MAX_ENTRIES).map((key) => [key, map[key]]));
  };
  const parts = Object.entries(value).map(([key, part]) => {
    if (key !== 'components' || !isObject(part)) return [key, cut(part, key === section ? name : '')];
    const groups = Object.entries(part).map(([kind, group]) => [kind, cut(group, kind === name ? component : '')]);
    return [key, Object.fromEntries(groups)];
  });
  return Object.fromEntries(parts) as JsonObject;
}

/**
 * Returns the errors that name a cause. Drops errors that follow from other errors, and errors of alternatives that do
 * not apply.
 */
function causes(errors: readonly SchemaError[]): readonly SchemaError[] {
  const umbrellas = new Set<string>();
  const parents = new Set<string>();
  for (const { keyword, instancePath } of errors) {
    if (UMBRELLA_KEYWORDS.has(keyword)) umbrellas.add(instancePath);
    for (let cut = instancePath.lastIndexOf('/'); cut >= 0 && !parents.has(instancePath.slice(0, cut));) {
      parents.add(instancePath.slice(0, cut));
      cut = instancePath.lastIndexOf('/', cut - 1);
    }
  }
  const deepest = errors.filter(
    ({ keyword, params, instancePath }) =>
      !UMBRELLA_KEYWORDS.has(keyword) &&
      params?.['missingProperty'] !== '$ref' &&
      !(parents.has(instancePath) && umbrellas.has(instancePath)),
  );
  return deepest.length > 0 ? deepest : errors;
}

function problemOf(error: SchemaError, source: SourceDocument): ConfigProblem {
  const path = pointerPath(error.instancePath);
  const extra = error.params?.['additionalProperty'] ?? error.params?.['unevaluatedProperty'];
  if (typeof extra === 'string') {
    const hint = 'check the spelling; fields of your own begin with x-';
    return source.problem([...path, extra], `is not valid OpenAPI: unknown key \`${extra}\``, hint, 'key');
  }
  return source.problem(path, `is not valid OpenAPI: ${describe(error)}`, hintOf(error));
}

function describe(error: SchemaError): string {
  const allowed = error.params?.['allowedValues'];
  const missing = error.params?.['missingProperty'];
  if (Array.isArray(allowed)) return `must be one of ${allowed.join(', ')}`;
  return typeof missing === 'string' ? `\`${missing}\` is missing` : (error.message ?? error.keyword);
}

const TYPE_HINTS: Readonly<Record<string, string>> = {
  object: 'it is a map: lines of `key: value`',
  array: 'it is a list: lines that begin with -',
  string: 'it is a text: a number needs quotes',
  boolean: 'it is true or false',
};

function hintOf({ keyword, params, instancePath }: SchemaError): string {
  const missing = params?.['missingProperty'];
  if (typeof missing === 'string') return `add \`${missing}\``;
  if (keyword === 'type') return TYPE_HINTS[String(params?.['type'])] ?? DEFAULT_HINT;
  if (keyword === 'minProperties') return 'describe one, or remove the key';
  if (keyword === 'pattern') return `it must match ${String(params?.['pattern'])}`;
  return instancePath === '' ? 'see whether this is the right file' : DEFAULT_HINT;
}
