/** Derives the output schema of a tool from the success response of its operation (OpenAPI, Responses Object). */
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import { checkArguments } from '../calling/argument-check.js';
import { WRAPPED_UNDER } from '../tool.js';
import type { SchemaConverter } from './convert-schema.js';
import { isJsonType, mediaTypesOf } from './media-types.js';

/** Output schema of a tool, and how its response is requested. */
export interface ResultSchema {
  /** Value of the `Accept` header. */
  readonly accept: string;
  /**
   * Output schema, always of an object. Undefined if the tool returns text only, or if the response has no usable
   * schema.
   */
  readonly outputSchema: JsonObject | undefined;
  /**
   * Whether the response can be a list or a scalar. The result is then an object that contains the response as
   * `result`.
   */
  readonly wrapsResult: boolean;
}

const ANY = '*/*';

/**
 * Derives the output schema from the success responses of an operation.
 * @param isText whether the settings ask for text-only results, without a schema
 */
export function readResultSchema(openapi: JsonObject, converter: SchemaConverter, isText: boolean): ResultSchema {
  const responses = isObject(openapi['responses']) ? openapi['responses'] : {};
  const media = successResponses(responses).flatMap((response) =>
    mediaTypesOf(converter.resolved(response)['content'], converter),
  );
  const json = media.find(({ type }) => isJsonType(type));
  // If a vendor type such as `application/vnd.x+json` comes first, it selects that version of the response.
  const accept = json?.type ?? media.find(({ type }) => !type.includes('*'))?.type ?? ANY;
  const none = { accept, outputSchema: undefined, wrapsResult: false };
  if (isText || json?.schema === undefined) return none;
  const { schema } = converter.convert(json.schema, 'output');
  if (Object.keys(schema).length === 0) return none;
  if (isObjectOnly(schema)) {
    const outputSchema = { type: 'object', ...schema };
    // If no object matches the schema, clients would reject every response.
    return checkArguments({}, outputSchema).length > 0 ? none : { accept, outputSchema, wrapsResult: false };
  }
  const outputSchema = { type: 'object', properties: { [WRAPPED_UNDER]: schema } };
  return { accept, outputSchema, wrapsResult: true };
}

/** Reports whether a schema allows only objects. */
function isObjectOnly(schema: unknown): boolean {
  if (!isObject(schema)) return false;
  const { type, properties, allOf, anyOf } = schema;
  if (type !== undefined) return type === 'object';
  if (Array.isArray(allOf) && allOf.some(isObjectOnly)) return true;
  if (Array.isArray(anyOf)) return anyOf.every(isObjectOnly);
  return isObject(properties);
}

/** Returns the success responses (2xx), with 200 and 201 first. */
function successResponses(responses: JsonObject): unknown[] {
  const codes = Object.keys(responses).filter((code) => /^2(\d\d|XX)$/i.test(code));
  const rank = (code: string): number => ['200', '201'].indexOf(code) + 1 || 3;
  return codes.toSorted((a, b) => rank(a) - rank(b)).map((code) => responses[code]);
}
