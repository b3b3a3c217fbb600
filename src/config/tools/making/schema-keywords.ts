/** The keywords of JSON Schema 2020-12 that a tool's schema may have, each with values that every validator takes. */
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { LONG_DIGITS, LONG_FORMATS } from '../tool.js';

/** What a schema is for: what is sent, which is checked, or what comes back, which may be more or less than that. */
export type SchemaUse = 'input' | 'output';

const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'string', 'integer']);
const LONGEST_PATTERN = 80;
const LONGEST_INPUT_WORDS = 1_000;
const LONGEST_OUTPUT_WORDS = 300;

/** The value that is kept; undefined: none. */
type Keep = (value: unknown) => unknown;

const anything: Keep = (value) => value;
const number: Keep = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);
const count: Keep = (value) => (Number.isSafeInteger(value) && (value as number) >= 0 ? value : undefined);
const truth: Keep = (value) => (value === true ? true : undefined);
const schema: Keep = (value) => (isObject(value) || typeof value === 'boolean' ? value : undefined);
const schemas: Keep = (value) => (Array.isArray(value) && value.length > 0 ? value : undefined);
const object: Keep = (value) => (isObject(value) ? value : undefined);

/** Each keyword with what keeps its values. */
const table = (keywords: Readonly<Record<string, Keep>>, groups: readonly (readonly [string, Keep])[]) =>
  new Map([
    ...Object.entries(keywords),
    ...groups.flatMap(([names, keep]) => names.split(' ').map((name) => [name, keep] as const)),
  ]);

const INPUT = table(
  {
    type,
    description: (value) => words(value, LONGEST_INPUT_WORDS),
    enum: (value) => (Array.isArray(value) && value.length > 0 ? [...new Set(value)] : undefined),
    // One says what many do.
    examples: (value) => (Array.isArray(value) && value.length > 0 ? value.slice(0, 1) : undefined),
    format: (value) => (typeof value === 'string' && value !== '' ? value : undefined),
    multipleOf: (value) => (typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : undefined),
    // One that is longer costs an assistant more than it tells.
    pattern: (value) => (isPattern(value) && value.length <= LONGEST_PATTERN ? value : undefined),
    patternProperties: (value) => (isObject(value) && Object.keys(value).every(isPattern) ? value : undefined),
    required: names,
    dependentRequired: (value) => (isObject(value) && Object.values(value).every(isNames) ? value : undefined),
  },
  [
    ['const default', anything],
    ['deprecated uniqueItems', truth],
    ['minimum maximum exclusiveMinimum exclusiveMaximum', number],
    ['minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties', count],
    ['properties dependentSchemas', object],
    ['additionalProperties propertyNames items contains not if then else', schema],
    ['prefixItems allOf anyOf oneOf', schemas],
  ],
);

/**
 * What comes back is described, not checked: a client refuses a response that is not as the schema says, and backends
 * leave fields out, and add values.
 */
const OUTPUT = table({ type, description: (value) => words(value, LONGEST_OUTPUT_WORDS) }, [
  ['properties additionalProperties', object],
  ['items', schema],
  ['prefixItems allOf anyOf', schemas],
]);

/** A schema with the keywords that are kept, in the order in which it has them; those within it are not looked at. */
export function keptKeywords(schemaObject: JsonObject, use: SchemaUse): JsonObject {
  const keeps = use === 'input' ? INPUT : OUTPUT;
  const kept: Record<string, unknown> = {};
  const spoken = withExample(use === 'output' ? withAlternatives(schemaObject) : schemaObject);
  for (const [name, value] of Object.entries(spoken)) {
    const keep = keeps.get(name)?.(value);
    if (keep !== undefined) kept[name] = keep;
  }
  return use === 'input' ? withLongIntegers(kept) : kept;
}

/**
 * Allows a text of digits where a whole number may be longer than JavaScript keeps: hosts round it, and some of them
 * send nothing that the schema does not allow.
 */
function withLongIntegers(kept: JsonObject): JsonObject {
  const { type: of, format, maximum = Infinity } = kept;
  const types = Array.isArray(of) ? (of as unknown[]) : [of];
  const isLong = LONG_FORMATS.has(format) && types.includes('integer') && (maximum as number) > Number.MAX_SAFE_INTEGER;
  if (!isLong || types.includes('string') || kept['enum'] !== undefined || kept['const'] !== undefined) return kept;
  return { ...kept, type: [...types, 'string'], pattern: LONG_DIGITS };
}

/** OpenAPI's `example` is one of JSON Schema's `examples`. */
function withExample(schemaObject: JsonObject): JsonObject {
  if (schemaObject['example'] === undefined || schemaObject['examples'] !== undefined) return schemaObject;
  return { ...schemaObject, examples: [schemaObject['example']] };
}

/** Of a response that is described no closer, more than one alternative may hold. */
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

/** A pattern of another dialect than JavaScript's would be an error of the whole schema. */
function isPattern(value: unknown): value is string {
  if (typeof value !== 'string') return false;
  try {
    return new RegExp(value, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}

/** A text without control characters and needless space, no longer than that; undefined where there is none. */
export function words(value: unknown, longest: number): string | undefined {
  if (typeof value !== 'string') return undefined;
  const spaced = value.replaceAll(/[^\S\n]+|(?!\n)\p{Cc}/gu, ' ').replaceAll(/ *\n */g, '\n');
  const text = spaced.replaceAll(/\n{3,}/g, '\n\n').trim();
  if (text === '') return undefined;
  return text.length <= longest ? text : `${text.slice(0, longest - 1).trimEnd()}…`;
}
