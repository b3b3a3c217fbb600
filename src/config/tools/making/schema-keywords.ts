/** Selects the JSON Schema 2020-12 keywords that tool schemas can have, with values that every validator accepts. */
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { LONG_DIGITS, LONG_FORMATS } from '../tool.js';

/**
 * SchemaUse is the purpose of a schema. Arguments must match input schemas. Responses may differ from output schemas.
 */
export type SchemaUse = 'input' | 'output';

const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);
const MAX_PATTERN_LENGTH = 80;
const MAX_INPUT_DESCRIPTION = 1_000;
const MAX_OUTPUT_DESCRIPTION = 300;

/** Keep returns the value to keep for a keyword, or undefined to remove the keyword. */
type Keep = (value: unknown) => unknown;

const anything: Keep = (value) => value;
const number: Keep = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);
const count: Keep = (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined);
const onlyTrue: Keep = (value) => (value === true ? true : undefined);
const schema: Keep = (value) => (isObject(value) || typeof value === 'boolean' ? value : undefined);
const schemas: Keep = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined);
const object: Keep = (value) => (isObject(value) ? value : undefined);

/**
 * Builds a map of keywords to their filters. Each group names several keywords, separated by spaces, that share a
 * filter.
 */
const table = (keywords: Readonly<Record<string, Keep>>, groups: readonly (readonly [string, Keep])[]) =>
  new Map([
    ...Object.entries(keywords),
    ...groups.flatMap(([names, keep]) => names.split(' ').map((name) => [name, keep] as const)),
  ]);

const INPUT = table(
  {
    type,
    description: (value) => normalizeText(value, MAX_INPUT_DESCRIPTION),
    enum: (value) => (Array.isArray(value) && value.length > 0 ? [...new Set(value)] : undefined),
    // Keep one example, because each example costs tokens.
    examples: (value) => (Array.isArray(value) && value.length > 0 ? value.slice(0, 1) : undefined),
    format: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
    multipleOf: (value) => (typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined),
    // Drop long patterns, which cost more tokens than they help.
    pattern: (value) => (isPattern(value) && value.length <= MAX_PATTERN_LENGTH ? value : undefined),
    patternProperties: (value) => (isObject(value) && Object.keys(value).every(isPattern) ? value : undefined),
    required: names,
    dependentRequired: (value) => (isObject(value) && Object.values(value).every(isNames) ? value : undefined),
  },
  [
    ['const default', anything],
    ['deprecated uniqueItems', onlyTrue],
    ['minimum maximum exclusiveMinimum exclusiveMaximum', number],
    ['minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties', count],
    ['properties dependentSchemas', object],
    ['additionalProperties propertyNames items contains not if then else', schema],
    ['prefixItems allOf anyOf oneOf', schemas],
  ],
);

/**
 * Keywords of output schemas, which describe values without strict constraints. Clients reject responses that violate
 * the schema, but backends omit fields and add values.
 */
const OUTPUT = table({ type, description: (value) => normalizeText(value, MAX_OUTPUT_DESCRIPTION) }, [
  ['properties additionalProperties', object],
  ['items', schema],
  ['prefixItems allOf anyOf', schemas],
]);

/** Returns a schema with only the supported keywords, in the original order. Nested schemas stay unchanged. */
export function selectKeywords(schemaObject: JsonObject, use: SchemaUse): JsonObject {
  const keeps = use === 'input' ? INPUT : OUTPUT;
  const kept: Record<string, unknown> = {};
  const converted = withExample(use === 'output' ? withAlternatives(schemaObject) : schemaObject);
  for (const [name, value] of Object.entries(converted)) {
    const keep = keeps.get(name)?.(value);
    if (keep !== undefined) kept[name] = keep;
  }
  return use === 'input' ? withLongIntegers(kept) : kept;
}

/**
 * Allows a text of digits for integer formats beyond 2^53, because JavaScript hosts of assistants round large numbers.
 * Some hosts send only values that the schema allows.
 */
function withLongIntegers(kept: JsonObject): JsonObject {
  const { type: declared, format, maximum = Infinity } = kept;
  const types = Array.isArray(declared) ? (declared as unknown[]) : [declared];
  const isLong = LONG_FORMATS.has(format) && types.includes('integer') && (maximum as number) > Number.MAX_SAFE_INTEGER;
  if (!isLong || types.includes('string') || kept['enum'] !== undefined || kept['const'] !== undefined) return kept;
  return { ...kept, type: [...types, 'string'], pattern: LONG_DIGITS };
}

/** Converts OpenAPI's `example` to `examples`. */
function withExample(schemaObject: JsonObject): JsonObject {
  if (schemaObject['example'] === undefined || schemaObject['examples'] !== undefined) return schemaObject;
  return { ...schemaObject, examples: [schemaObject['example']] };
}

/** Converts `oneOf` to `anyOf`, because a response that is described imprecisely can match several alternatives. */
function withAlternatives(schemaObject: JsonObject): JsonObject {
  const { oneOf, ...rest } = schemaObject;
  return oneOf === undefined || rest['anyOf'] !== undefined ? rest : { ...rest, anyOf: oneOf };
}

function type(value: unknown): unknown {
  if (typeof value === 'string') return TYPES.has(value) ? value : undefined;
  if (!Array.isArray(value)) return undefined;
  const known = [...new Set(value)].filter((one) => TYPES.has(one as string));
  return known.length === value.length && known.length > 0 ? known : undefined;
}

function names(value: unknown): unknown {
  if (!Array.isArray(value)) return undefined;
  const found = [...new Set(value)].filter((one) => typeof one === 'string');
  return found.length > 0 ? found : undefined;
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string') && new Set(value).size === value.length;
}

/** Reports whether a pattern is valid in JavaScript. A single invalid pattern would make the whole schema invalid. */
function isPattern(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** Normalizes spaces and line breaks of a text, and limits its length. Returns undefined if the text is empty. */
export function normalizeText(value: unknown, longest: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const spaced = value.replaceAll(/[^\S\n]+|(?!\n)\p{Cc}/gu, ' ').replaceAll(/ *\n */g, '\n');
  const text = spaced.replaceAll(/\n{3,}/g, '\n\n').trim();
  if (text === '') return undefined;
  return text.length <= longest ? text : `${text.slice(0, longest - 1).trimEnd()}…`;
}
