/** Converts the zod schemas of bodies and responses into schemas of the OpenAPI document. */
import { z } from 'zod';
import { LARGEST_INT32 } from '../../platform/problems/problem-schema.js';

/** Json is an object of the OpenAPI document. */
export type Json = Readonly<Record<string, unknown>>;

/** Direction says how a schema is used: `input` for requests, `output` for responses. */
export type Direction = 'input' | 'output';

/** Formats whose pattern is removed, because the pattern slows down generators of test data. */
const FORMATS_WITHOUT_PATTERN = new Set(['date', 'date-time', 'ipv4']);
/** Formats that only zod knows, or that tools define differently. Schemas with these formats keep only the pattern. */
const PATTERNS_WITHOUT_FORMAT = new Set(['ipv6', 'cidrv4', 'cidrv6']);

/** Returns a reference to a named schema. Throws if the schema has no name. */
export function schemaReference(schema: z.ZodType): Json {
  return { $ref: componentUri(nameOf(schema)) };
}

/** Returns the JSON schemas by name, including the named schemas inside them. Throws if a schema has no name. */
export function namedSchemas(schemas: readonly z.ZodType[], io: Direction): Record<string, unknown> {
  const components: Record<string, unknown> = {};
  for (const schema of schemas) {
    const { $defs = {}, ...own } = toJsonSchema(schema, io) as Json & { $defs?: Json };
    for (const [name, each] of Object.entries({ [nameOf(schema)]: own, ...$defs })) {
      const { $schema: _schema, id: _id, ...content } = each as Record<string, unknown>;
      components[name] = JSON.parse(JSON.stringify(content).replaceAll('"#/$defs/', `"${componentUri('')}`));
    }
  }
  return components;
}

/**
 * Returns the parameters of a query. A `schema` in the metadata of a parameter replaces the schema generated from zod.
 * Use `schema` for values that other code validates.
 */
export function queryParameters(query: z.ZodObject | undefined): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = toJsonSchema(query, 'output') as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, { description, schema, ...own }]) => ({
    name,
    in: 'query',
    required: false,
    ...(description === undefined ? {} : { description }),
    schema: schema ?? own,
  }));
}

function toJsonSchema(schema: z.ZodType, io: Direction): unknown {
  return z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => adjustSchema(jsonSchema as Record<string, unknown>, io),
  });
}

function componentUri(name: string): string {
  return `#/components/schemas/${name}`;
}

function nameOf(schema: z.ZodType): string {
  const name = schema.meta()?.id;
  if (name === undefined) throw new Error('a schema of the admin API needs a name: .meta({ id })');
  return name;
}

/** Modifies a generated schema in place, for tools that generate clients or test data. */
function adjustSchema(schema: Record<string, unknown>, io: Direction): void {
  // Responses can gain fields without a new API version. Generated clients must not reject new fields.
  if (io === 'output' && schema['additionalProperties'] === false) delete schema['additionalProperties'];
  if (io === 'input') moveDefaultToDescription(schema);
  convertExample(schema);
  const format = String(schema['format']);
  if (FORMATS_WITHOUT_PATTERN.has(format)) delete schema['pattern'];
  if (PATTERNS_WITHOUT_FORMAT.has(format)) delete schema['format'];
  const values = schema['enum'];
  if (schema['type'] === 'number' && Array.isArray(values) && values.every(Number.isInteger)) {
    Object.assign(schema, { type: 'integer', minimum: Math.min(...values), maximum: Math.max(...values) });
  }
  if (schema['type'] === 'integer') {
    schema['format'] = Number(schema['maximum']) <= LARGEST_INT32 ? 'int32' : 'int64';
  }
}

/** Moves a `default` into the description. Client generators treat fields with a `default` as required. */
function moveDefaultToDescription(schema: Record<string, unknown>): void {
  if (!('default' in schema)) return;
  const words = `Default: \`${JSON.stringify(schema['default']).replaceAll('"', '')}\`.`;
  const about = schema['description'];
  schema['description'] = typeof about === 'string' ? `${about} ${words}` : words;
  delete schema['default'];
}

/** Converts `example` to `examples`. JSON Schema 2020-12 has only the latter. */
function convertExample(schema: Record<string, unknown>): void {
  if (!('example' in schema)) return;
  schema['examples'] = [schema['example']];
  delete schema['example'];
}
