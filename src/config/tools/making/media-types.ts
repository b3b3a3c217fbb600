/** Reads the media types of a body (OpenAPI, Media Type Object). */
import { isObject, type JsonObject } from '../../openapi/openapi-traversal.js';
import type { SchemaConverter } from './convert-schema.js';

/** Media type of a body, with its schema and its encoding. */
export interface MediaType {
  /** Name in lower case and without parameters, such as `application/json`. */
  readonly type: string;
  readonly schema: unknown;
  /** Encoding Objects by property name. Empty if the media type has none. */
  readonly encoding: JsonObject;
}

/**
 * Returns the media types of a `content` object, in the order of the document. Skips names that are not media types.
 */
export function mediaTypesOf(content: unknown, converter: SchemaConverter): MediaType[] {
  return Object.entries(isObject(content) ? content : {}).flatMap(([name, value]) => {
    const [type = ''] = name.split(';');
    const plain = type.trim().toLowerCase();
    if (!/^[\w.+*-]+\/[\w.+*-]+$/.test(plain)) return [];
    const media = converter.resolved(value);
    return [{ type: plain, schema: media['schema'], encoding: isObject(media['encoding']) ? media['encoding'] : {} }];
  });
}

/**
 * Reports whether a media type is JSON or ends with `+json`, such as `application/problem+json` (RFC 6839 section 3.1).
 */
export function isJsonType(type: string): boolean {
  return /^application\/([\w.-]+\+)?json$/.test(type);
}
