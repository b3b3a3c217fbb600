/** Schemas of the admin API's description, made of the zod schemas that check bodies and type responses. */
import { z } from 'zod';
import { LARGEST_INT32 } from '../../platform/problems/problem-schema.js';

export type Json = Readonly<Record<string, unknown>>;

/** What zod is asked to write: of what is sent, or of what is answered. */
export type Direction = 'input' | 'output';

/** Their format says it, and a pattern beside it keeps generators of data busy for nothing. */
const FORMATS_WITHOUT_PATTERN = new Set(['date', 'date-time', 'ipv4']);
/** Formats of zod that nobody else knows, or draws differently: the pattern says what is taken. */
const PATTERNS_WITHOUT_FORMAT = new Set(['ipv6', 'cidrv4', 'cidrv6']);

/** The reference to the component that a schema is. Throws where it has no name. */
export function reference(schema: z.ZodType): Json {
  return { $ref: componentUri(nameOf(schema)) };
}

/** The schemas and the named ones inside them, each once. */
export function namedSchemas(schemas: readonly z.ZodType[], io: Direction): Record<string, unknown> {
  const components: Record<string, unknown> = {};
  for (const schema of schemas) {
    const { $defs = {}, ...own } = described(schema, io) as Json & { $defs?: Json };
    for (const [name, each] of Object.entries({ [nameOf(schema)]: own, ...$defs })) {
      const { $schema: _schema, id: _id, ...content } = each as Record<string, unknown>;
      components[name] = JSON.parse(JSON.stringify(content).replaceAll('"#/$defs/', `"${componentUri('')}`));
    }
  }
  return components;
}

/**
 * The parameters of a query. A `schema` in a parameter's metadata is how it is
 * described, where text is checked elsewhere.
 */
export function queryParameters(query: z.ZodObject | undefined): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = described(query, 'output') as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, { description, schema, ...own }]) => ({
    name,
    in: 'query',
    required: false,
    ...(description === undefined ? {} : { description }),
    schema: schema ?? own,
  }));
}

function described(schema: z.ZodType, io: Direction): unknown {
  return z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => adjust(jsonSchema as Record<string, unknown>, io),
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

function adjust(schema: Record<string, unknown>, io: Direction): void {
  // A response may gain fields without a new version; a client that was generated from this must not refuse them.
  if (io === 'output' && schema['additionalProperties'] === false) delete schema['additionalProperties'];
  if (io === 'input') defaultInWords(schema);
  exampleInList(schema);
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

/** Generators make a field that has a `default` one that is always there, and so one that must be sent. */
function defaultInWords(schema: Record<string, unknown>): void {
  if (!('default' in schema)) return;
  const words = `\`${JSON.stringify(schema['default']).replaceAll('"', '')}\` unless given.`;
  const about = schema['description'];
  schema['description'] = typeof about === 'string' ? `${about} ${words}` : words;
  delete schema['default'];
}

/** JSON Schema 2020-12 knows `examples` only. */
function exampleInList(schema: Record<string, unknown>): void {
  if (!('example' in schema)) return;
  schema['examples'] = [schema['example']];
  delete schema['example'];
}
