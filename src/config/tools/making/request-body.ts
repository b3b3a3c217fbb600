/** Reads request bodies that can become tool arguments, which are JSON, forms and text, but not files. */
import type { BodyKind, QueryStyle } from '../../model/described-tool.js';
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import type { ConvertedSchema, SchemaConverter } from './convert-schema.js';
import { isJsonType, type MediaType, mediaTypesOf } from './media-types.js';
import { normalizeText } from './schema-keywords.js';

/** A request body that tool arguments can express. */
export interface RequestBody {
  readonly kind: BodyKind;
  readonly mediaType: string;
  readonly isRequired: boolean;
  /** Schema of the body as a single argument. */
  readonly whole: ConvertedSchema;
  /** Fields of the body, if each field can be a separate argument. Undefined if the body is a single argument. */
  readonly fields: readonly RequestField[] | undefined;
}

/** A field of a request body that is an object. */
export interface RequestField {
  readonly name: string;
  readonly schema: JsonObject;
  readonly isRequired: boolean;
  /** Serialization of the field in a form. */
  readonly style: QueryStyle;
  readonly explode: boolean;
}

/** Keywords that a schema may have if its properties become separate arguments. */
const FLAT_KEYWORDS = new Set(
  'type description properties required additionalProperties examples deprecated allOf'.split(' '),
);
const LONGEST_DESCRIPTION = 1_000;

/**
 * Reads the request body of an operation. Returns undefined if there is no body, or a message if the body cannot be
 * sent.
 */
export function readRequestBody(openapi: JsonObject, converter: SchemaConverter): RequestBody | string | undefined {
  if (openapi['requestBody'] === undefined) return undefined;
  const body = converter.resolved(openapi['requestBody']);
  const isRequired = body['required'] === true;
  const media = mediaTypesOf(body['content'], converter);
  const chosen = choose(media);
  if (chosen === undefined) {
    const types = media.map(({ type }) => type).join(', ');
    // Reject file bodies even if they are optional. Otherwise, the tool would upload nothing and report success.
    return types === '' ? undefined : `its body is ${types}, and arguments are JSON`;
  }
  const { kind, type, schema, encoding } = chosen;
  const converted = converter.convert(kind === 'text' ? { type: 'string' } : schema, 'input');
  const description = normalizeText(body['description'], LONGEST_DESCRIPTION);
  const own = { ...(description === undefined ? {} : { description }), ...converted.schema };
  return {
    kind,
    mediaType: type,
    isRequired,
    whole: { schema: own, definitions: converted.definitions },
    fields: kind === 'text' ? undefined : fieldsOf(converted.schema, isRequired, encoding),
  };
}

/**
 * Chooses the media type to send: JSON, else a form, else text. Returns undefined if the operation accepts none of
 * these.
 */
function choose(media: readonly MediaType[]): (MediaType & { readonly kind: BodyKind }) | undefined {
  const kinds: readonly (readonly [BodyKind, (type: string) => boolean])[] = [
    ['json', (type) => type === 'application/json'],
    ['json', isJsonType],
    ['form', (type) => type === 'application/x-www-form-urlencoded'],
    ['text', (type) => type === 'text/plain'],
  ];
  for (const [kind, isOfKind] of kinds) {
    const found = media.find(({ type }) => isOfKind(type));
    if (found !== undefined) return { ...found, kind };
  }
  // `*/*` accepts anything, including JSON.
  const any = media.find(({ type }) => type === '*/*' || type === 'application/*');
  return any === undefined ? undefined : { ...any, type: 'application/json', kind: 'json' };
}

/**
 * Returns the fields of an object, or undefined if they cannot be separate arguments. Additional properties and
 * constraints across several fields prevent separate arguments.
 */
function fieldsOf(schema: JsonObject, isRequired: boolean, encoding: JsonObject): RequestField[] | undefined {
  const flat = flattened(schema);
  if (flat === undefined) return undefined;
  // Separate arguments cannot express that a field is required only if the optional body is sent.
  if (!isRequired && flat.required.size > 0) return undefined;
  return [...flat.properties].map(([name, property]) => {
    const fieldEncoding = isObject(encoding[name]) ? encoding[name] : {};
    const style =
      fieldEncoding['style'] === 'deepObject' || fieldEncoding['style'] === 'pipeDelimited'
        ? fieldEncoding['style']
        : 'form';
    const explode = typeof fieldEncoding['explode'] === 'boolean' ? fieldEncoding['explode'] : style === 'form';
    return { name, schema: property, isRequired: flat.required.has(name), style, explode };
  });
}

interface FlatSchema {
  readonly properties: Map<string, JsonObject>;
  readonly required: Set<string>;
}

/** Returns the properties of a schema, including those of `allOf`. Returns undefined if the schema is more complex. */
function flattened(schema: JsonObject): FlatSchema | undefined {
  if (schema['type'] !== undefined && schema['type'] !== 'object') return undefined;
  if (schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false) return undefined;
  if (Object.keys(schema).some((keyword) => !FLAT_KEYWORDS.has(keyword))) return undefined;
  const properties = new Map<string, JsonObject>();
  const required = new Set<string>();
  const parts = Array.isArray(schema['allOf']) ? (schema['allOf'] as unknown[]) : [];
  for (const part of parts) {
    const flat = isObject(part) ? flattened(part) : undefined;
    if (flat === undefined) return undefined;
    for (const [name, property] of flat.properties) {
      if (properties.has(name)) return undefined;
      properties.set(name, property);
    }
    for (const name of flat.required) required.add(name);
  }
  for (const [name, property] of Object.entries(isObject(schema['properties']) ? schema['properties'] : {})) {
    if (properties.has(name)) return undefined;
    properties.set(name, isObject(property) ? property : {});
  }
  for (const name of Array.isArray(schema['required']) ? schema['required'] : []) required.add(name as string);
  // A required property without a schema could not be sent.
  if ([...required].some((name) => !properties.has(name))) return undefined;
  return properties.size === 0 ? undefined : { properties, required };
}
